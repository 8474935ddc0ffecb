package tts

// VoiceInfo describes a voice for people and for a dataset's credits.
type VoiceInfo struct {
	Voice       string `json:"voice"`
	Lang        string `json:"lang"`
	Gender      string `json:"gender,omitempty"`   // "female", "male" or unknown
	Rate        int    `json:"rate"`               // 0: not known before it speaks
	Speakers    int    `json:"speakers,omitempty"` // 0: one
	License     string `json:"license"`
	Attribution string `json:"attribution,omitempty"`
	Note        string `json:"note,omitempty"`
}

const (
	licenseEspeak = "GPL-3.0 (program); the sound it makes is free to use"
	licenseJenny  = "Jenny (Dioco): commercial use allowed, attribution required"
)

// piperVoices are the voices that melforge-tts carries.
func piperVoices() []VoiceInfo {
	return []VoiceInfo{{
		Voice:       "piper/jenny",
		Lang:        "en-gb",
		Gender:      "female",
		Rate:        22050,
		License:     licenseJenny,
		Attribution: "Jenny (Dioco)",
		Note:        "English (Great Britain), neural; the default",
	}}
}
