package plan

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"unicode/utf8"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
)

// place of a key.
type place byte

const (
	nowhere place = iota
	inPlan
	inDataset
)

// owner is the first line that used an id.
type owner struct {
	key    manifests.Key
	line   int
	copies int
}

// builder holds a plan in the making.
type builder struct {
	folder datasets.Folder
	opts   Options
	plan   *manifests.Plan

	seen     map[manifests.Key]place
	ids      map[manifests.Key]*owner // by hash of the id: shorter than most ids
	rejected map[manifests.Key]manifests.Reject
	voices   map[string]voice
	hasWavs  bool
	sums     *sums // nil where there is only speech

	out     *bufio.Writer
	counted counter
	items   *manifests.Writer

	shard     manifests.ShardPlan
	shardHash hash.Hash
	followed  []manifests.Item // of the shard being filled, where somebody follows
	base      int              // shards that the dataset has already
	decided   []byte           // what decides a shard besides its keys
	seconds   float64          // speaking time on one core
}

func newBuilder(folder datasets.Folder, o Options) (*builder, error) {
	if o.Settings.ShardSize < 1 {
		return nil, fmt.Errorf("shard size %d: want at least 1 clip", o.Settings.ShardSize)
	}
	old, checksum, err := folder.Load()
	if err != nil {
		return nil, err
	}
	b := &builder{
		folder: folder, opts: o,
		plan: &manifests.Plan{
			Version: manifests.PlanVersion, Items: datasets.ItemsFile(),
			Base: checksum, Mel: o.Mel, Layout: o.Layout, Settings: o.Settings, Shards: []manifests.ShardPlan{}, Reasons: map[string]int{},
		},
		seen:     map[manifests.Key]place{},
		ids:      map[manifests.Key]*owner{},
		rejected: map[manifests.Key]manifests.Reject{},
		voices:   map[string]voice{},
	}
	b.counted.b = b
	if !o.Speech {
		b.sums = loadSums(sumsFile(folder))
		if o.Repair {
			clear(b.sums.known)
		}
	}
	decided := []any{o.Mel, o.Settings.Gates, o.Settings.MaxWER}
	if o.Layout != manifests.Packed { // the names of packed shards are older than layouts
		decided = append(decided, o.Layout)
	}
	if b.decided, err = json.Marshal(decided); err != nil {
		return nil, err
	}
	b.hasWavs = exists(folder.Path("wavs"))
	if old == nil {
		return b, nil
	}
	return b, b.learn(old)
}

// learn takes in what the dataset holds.
func (b *builder) learn(old *manifests.Dataset) error {
	sameMel := old.HasShards(b.opts.Mel, b.opts.Layout)
	if sameMel || b.opts.Mel == nil {
		b.base = len(old.Shards)
	}
	// Other gates may judge otherwise, so every clip is looked at again: its
	// wav is there, only its mel is computed anew.
	sameGates := old.Settings.Gates == b.opts.Settings.Gates && old.Settings.MaxWER == b.opts.Settings.MaxWER
	whole := map[string]bool{}
	for _, s := range old.Shards {
		st, err := os.Stat(b.folder.Path(s.File))
		whole[s.File] = err == nil && st.Size() == s.Bytes
	}
	for e, err := range b.folder.Entries(old) {
		if err != nil {
			return fmt.Errorf("cannot build on the dataset as it is: %w (--repair makes what is lost again)", err)
		}
		if b.opts.Repair && !exists(b.folder.Path(e.Audio)) {
			continue
		}
		if sameGates && (b.opts.Mel == nil || sameMel && whole[e.Shard]) {
			b.seen[e.Key] = inDataset
		}
	}
	if b.opts.RetryRejects {
		return nil
	}
	for r, err := range b.folder.Rejects(old) {
		if err != nil {
			return err
		}
		// A gate's verdict holds as long as the gates are the same.
		if r.Key != nil && sameGates {
			b.rejected[*r.Key] = r
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (b *builder) openShard() {
	if b.opts.Follow != nil && len(b.plan.Shards) == 0 {
		head := *b.plan
		head.Shards, head.Reasons, head.Counts = nil, nil, manifests.Counts{}
		b.opts.Follow.Expect(head)
	}
	b.shard = manifests.ShardPlan{Index: len(b.plan.Shards), Offset: int64(b.counted.n)}
	b.shardHash = sha256.New()
	b.shardHash.Write(b.decided)
}

// closeShard names the shard being filled, if there is one, and adds it.
func (b *builder) closeShard() error {
	if b.shard.Clips == 0 {
		return nil
	}
	b.shard.Name = fmt.Sprintf("%05d-%x", b.base+b.shard.Index, b.shardHash.Sum(nil)[:6])
	full, items := b.shard, b.followed
	b.plan.Shards = append(b.plan.Shards, full)
	b.shard, b.followed = manifests.ShardPlan{}, nil
	if b.opts.Follow != nil {
		return b.opts.Follow.Shard(full, items)
	}
	return nil
}

// takeID claims the item's id, making one from the text where the corpus has
// none, and reports the line that had it before.
func (b *builder) takeID(it manifests.Item) (first *owner, taken bool) {
	first, taken = b.ids[idKey(it.ID)]
	if !taken {
		b.ids[idKey(it.ID)] = &owner{key: it.Key, line: it.Line}
	}
	return first, taken
}

// autoID names a line that has no id. It depends on the text and not on the
// line's place, so that it stays when lines are added before it; the second
// line with the same text is numbered.
func (b *builder) autoID(text string) string {
	id := "u" + manifests.NewKey("id", text).String()[:15]
	first := b.ids[idKey(id)]
	if first == nil {
		return id
	}
	first.copies++
	return fmt.Sprintf("%s-%d", id, first.copies+1)
}

func idKey(id string) manifests.Key { return manifests.NewKey(id) }

// expect adds to the estimate what speaking the item will take.
func (b *builder) expect(it manifests.Item) {
	e := b.voices[it.Voice].estimate
	speed := it.Speed
	if speed == 0 {
		speed = 1
	}
	audio := e.SecondsPerChar * float64(utf8.RuneCountInString(it.Say())) / speed
	b.plan.Estimate.AudioSeconds += audio
	if e.AudioSecondsPerCoreSecond > 0 {
		b.seconds += audio / e.AudioSecondsPerCoreSecond
	}
}

// estimate completes the plan's estimate.
func (b *builder) estimate() {
	e := &b.plan.Estimate
	e.Jobs = max(1, b.opts.Jobs)
	e.WavBytes = int64(e.AudioSeconds * float64(b.opts.Settings.Rate) * 2)
	audio := e.AudioSeconds
	if m := b.opts.Mel; m != nil {
		// Clips whose wav is there are not counted in AudioSeconds: their
		// lengths are only known once they are read.
		e.MelBytes = int64(audio * float64(m.Rate) / float64(m.Hop) * float64(m.NMels) * 2)
		if b.opts.Layout == manifests.Padded {
			e.MelBytes = int64(b.plan.Counts.New) * int64(m.PaddedFrames()*m.NMels*2)
		}
	}
	e.Seconds = b.seconds / float64(e.Jobs)
}

// counter passes bytes on to the builder's output and counts them.
type counter struct {
	b *builder
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.b.out.Write(p)
	c.n += int64(n)
	return n, err
}
