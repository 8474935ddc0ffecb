// Package plan makes every decision before any work starts: which lines can be
// used, what their keys are, what the dataset already holds, and which shard
// each new clip goes to. What carries the plan out has nothing left to decide.
//
// A plan is made in one pass over the corpus. Its items go to a file as they
// are decided; what stays in memory is a few dozen bytes a line.
package plan

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// Options are what a plan depends on besides the corpus and the dataset.
type Options struct {
	// Speech is set where wavs are to be spoken; otherwise the corpus names them.
	Speech bool
	// Mel is nil where only wavs are wanted.
	Mel *mel.Config
	// Layout is that of the shards.
	Layout manifests.Layout
	// Voices resolves voice names and knows their fingerprints.
	Voices *tts.Set
	// Variety is what is drawn for lines that do not say.
	Variety Variety
	// Lexicon changes what is spoken, not what is written in the manifest.
	Lexicon tts.Lexicon
	// Settings is stored in the dataset. Assets are loaded for its Augment.
	Settings manifests.Settings
	Assets   *augment.Assets
	// RetryRejects tries again what an earlier run could not speak.
	RetryRejects bool
	// Repair also makes again clips whose wav is missing. Missing shards are
	// made again in any case.
	Repair bool
	// DryRun decides everything and writes nothing.
	DryRun bool
	// Jobs is for the estimate of time only.
	Jobs int
	// Progress, if set, is called now and then with the lines read so far.
	Progress func(lines int)
	// Follow, if set, is told of the shards while the plan is still being made.
	Follow Follower
}

// Follower begins to carry out a plan that is not complete yet. What it is told
// does not change any more.
type Follower interface {
	// Expect is called once, as soon as there is anything to be made. The plan
	// has its settings, but neither shards nor counts.
	Expect(p manifests.Plan)
	// Shard is called with each shard as it becomes complete, and its items. An
	// error ends the planning.
	Shard(s manifests.ShardPlan, items []manifests.Item) error
}

// Source gives corpus lines: io.EOF at the end, a *corpus.BadLine for a line
// that cannot be used.
type Source interface {
	Next() (corpus.Line, error)
}

// Make plans the work that turns the lines of src into the dataset in folder.
// Unless it is a dry run the items file is written and the folder must be locked.
func Make(ctx context.Context, folder datasets.Folder, src Source, o Options) (*manifests.Plan, error) {
	b, err := newBuilder(folder, o)
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		b.out = bufio.NewWriter(io.Discard)
		err = b.read(ctx, src)
	} else {
		err = commit.File("items", folder.Path(datasets.ItemsFile()), func(w io.Writer) error {
			b.out = bufio.NewWriterSize(w, 1<<20)
			return b.read(ctx, src)
		})
	}
	if err != nil {
		return nil, err
	}
	if !o.DryRun && !o.Speech {
		err = b.sums.save(sumsFile(folder))
	}
	return b.plan, err
}

// enter takes in an item that has its key: unless its id is taken or its key
// was rejected before, it gets its place.
func (b *builder) enter(line corpus.Line, it manifests.Item) error {
	switch first, taken := b.takeID(it); {
	case taken && first.key == it.Key:
		b.plan.Counts.Repeated++
		return nil
	case taken:
		return b.reject(line, manifests.StageCorpus, "duplicate-id",
			fmt.Sprintf("line %d has id %s with another text or voice", first.line, it.ID))
	}
	if r, ok := b.rejected[it.Key]; ok {
		r.Line, r.ID, r.Text = it.Line, it.ID, it.Text
		return b.writeReject(r)
	}
	return b.place(it)
}

// place finds out whether the item's clip is there, is coming, or is to be made.
func (b *builder) place(it manifests.Item) error {
	switch where := b.seen[it.Key]; where {
	case inDataset:
		it.State = manifests.StateDone
		b.plan.Counts.Done++
	case inPlan:
		it.State = manifests.StateShared
		b.plan.Counts.Shared++
	default:
		b.seen[it.Key] = inPlan
		it.State = manifests.StateNew
		b.plan.Counts.New++
		return b.addToShard(it)
	}
	return b.write(it)
}

// addToShard writes a new item and counts it into the shard being filled.
func (b *builder) addToShard(it manifests.Item) error {
	if b.shard.Clips == 0 {
		b.openShard()
	}
	it.Shard = b.shard.Index
	if b.haveWav(it) {
		b.plan.Counts.HaveWav++
	} else {
		b.expect(it)
	}
	if err := b.write(it); err != nil {
		return err
	}
	b.shard.Clips++
	b.shard.Bytes = int64(b.counted.n) - b.shard.Offset
	b.shardHash.Write(it.Key[:])
	if b.opts.Layout == manifests.Padded { // such shards hold the texts too
		text := manifests.NewKey(it.Text)
		b.shardHash.Write(text[:])
	}
	if b.opts.Follow != nil {
		b.followed = append(b.followed, it)
	}
	if b.shard.Clips == b.opts.Settings.ShardSize {
		return b.closeShard()
	}
	return nil
}

// haveWav reports whether the clip's wav is there: given by the user, or left
// by a run that did not finish or used another mel configuration.
func (b *builder) haveWav(it manifests.Item) bool {
	if it.Audio != "" {
		return true
	}
	return b.hasWavs && exists(b.folder.Path(datasets.WavFile(it.Key)))
}

func (b *builder) reject(line corpus.Line, stage manifests.Stage, reason, detail string) error {
	return b.writeReject(manifests.Reject{
		Line: line.Number, ID: line.ID, Stage: stage, Reason: reason, Detail: detail, Text: short(line.Text),
	})
}

func (b *builder) writeReject(r manifests.Reject) error {
	b.plan.Counts.Reject++
	b.plan.Reasons[r.Reason]++
	return b.write(manifests.Item{State: manifests.StateReject, Line: r.Line, ID: r.ID, Reject: &r})
}

func (b *builder) write(it manifests.Item) error { return b.items.Write(&it) }

// short keeps a rejected text recognisable without letting a huge one into
// the rejects file. It is cut between characters.
func short(text string) string {
	const limit = 200
	n := 0
	for i := range text {
		if n == limit {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
