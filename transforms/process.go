package transforms

import (
	"errors"
	"sync"
	"time"

	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// Host is what a process brings to the work: where its voices are and how much
// of the machine to use. It differs from machine to machine and therefore does
// not travel with the pipeline.
type Host struct {
	// Voices are the speech engines of this machine. The host closes them.
	Voices *tts.Set
	// Engine opens the mel engine for at most jobs clips at once.
	Engine func(e Engine, c mel.Config, jobs int) (mel.Engine, error)
	// Jobs is how many clips are worked on at once where the pipeline does
	// not say.
	Jobs int
}

// Engine says what is to compute the mels.
type Engine struct {
	Name    string // "auto", "cpu" or "cuda"
	Devices string // GPUs as in "0,1"; "" for all
	Level   int    // how much is tuned, 0 to 2
}

// Process is the one place where bundles of a process meet: the runner starts
// as many as it likes, and they share one forge with its pool and its engine.
type Process struct {
	host     Host
	progress forge.Progress

	mu     sync.Mutex
	forges map[forgeKey]*opening
	begun  map[shardKey]*beginning // shards made ahead of the pipeline
	failed error
	times  Times
}

// Times are moments of a process's work; zero before they come.
type Times struct {
	Engine time.Time // an engine was open
	Made   time.Time // every shard was made, and the index begun
}

// opening is a forge whose engine may still be starting.
type opening struct {
	done   chan struct{} // closed when the others are set
	forge  *forge.Forge
	engine mel.Engine // nil where there is nothing to close
	err    error
}

// forgeKey is what a forge depends on. A process normally sees one.
type forgeKey struct {
	engine Engine
	jobs   int
	mel    mel.Config
}

// process is set once, before the first pipeline runs.
var process = &Process{}

// Open prepares this process for the work. It must be called in every process
// that runs a pipeline, before beam.Init, and closed at its end.
func Open(h Host) *Process {
	process = &Process{host: h, forges: map[forgeKey]*opening{}, begun: map[shardKey]*beginning{}}
	return process
}

// Progress is how far this process has come.
func (p *Process) Progress() forge.Snapshot { return p.progress.Now() }

// Err is the first error of a bundle of this process, as it was: runners only
// pass on its text, wrapped many times.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// Close ends the engines that this process opened.
func (p *Process) Close() error {
	p.mu.Lock()
	all := p.forges
	p.forges, p.begun = map[forgeKey]*opening{}, map[shardKey]*beginning{}
	p.mu.Unlock()
	var errs []error
	for _, o := range all {
		<-o.done
		if o.engine != nil {
			errs = append(errs, o.engine.Close())
		}
	}
	return errors.Join(errs...)
}

// Times says how far this process has come by the clock.
func (p *Process) Times() Times {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.times
}

// note sets one of the times to now.
func (p *Process) note(which func(*Times) *time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*which(&p.times) = time.Now()
}

// forge gives the process's forge for a plan, which it opens on first use.
func (p *Process) forge(plan *manifests.Plan, engine Engine, jobs int) (*forge.Forge, error) {
	o, err := p.open(plan, engine, jobs)
	if err != nil {
		return nil, err
	}
	<-o.done
	return o.forge, o.err
}

// open begins to open the forge for a plan, unless somebody did: a GPU takes a
// while, in which there is other work.
func (p *Process) open(plan *manifests.Plan, engine Engine, jobs int) (*opening, error) {
	if jobs < 1 {
		jobs = max(1, p.host.Jobs)
	}
	key := forgeKey{engine: engine, jobs: jobs}
	if plan.Mel != nil {
		key.mel = *plan.Mel
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, ok := p.forges[key]; ok {
		return o, nil
	}
	if p.forges == nil {
		return nil, errors.New("transforms.Open was not called in this process")
	}
	o := &opening{done: make(chan struct{})}
	p.forges[key] = o
	go func() {
		defer close(o.done)
		if plan.Mel != nil {
			start := time.Now()
			if o.engine, o.err = p.host.Engine(engine, key.mel, jobs); o.err != nil {
				o.engine = nil
				return
			}
			timeline.Add("engine", "open", o.engine.Name(), start)
			p.note(func(t *Times) *time.Time { return &t.Engine })
		}
		o.forge = forge.New(p.host.Voices, o.engine, jobs, &p.progress)
	}()
	return o, nil
}
