package manifests

// Result is what making one shard of the plan gave. It is written when the
// shard is complete, which makes it the mark that it is.
type Result struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Shard is nil when no mel was asked for or every utterance was rejected.
	Shard *Shard `json:"shard,omitempty"`
	// Made lists the clips in the shard's order, Rejects the others.
	Made    []Made   `json:"made"`
	Rejects []Reject `json:"rejects,omitempty"`
	Cost    Cost     `json:"cost"`
}

// Made is one clip of a result.
type Made struct {
	Key   Key    `json:"key"`
	Audio string `json:"audio"`
	Clip
	Frames int `json:"frames"`
	// Spoken or Augmented says how the wav was made now; both are false when it
	// was there already.
	Spoken    bool `json:"spoken,omitempty"`
	Augmented bool `json:"augmented,omitempty"`
}

// Cost is the time a shard took, in seconds summed over all workers.
type Cost struct {
	Speech float64 `json:"speech"`
	Hear   float64 `json:"hear"`
	Wav    float64 `json:"wav"`
	Mel    float64 `json:"mel"`
	Write  float64 `json:"write"`
}
