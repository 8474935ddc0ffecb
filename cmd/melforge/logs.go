package main

import (
	"context"
	"log/slog"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/rs/zerolog"
)

// bridgeLogs sends what Beam and its local runner log to our log, one level
// lower: what is news to the runner is detail to its user. It must come after
// beam.Init, which sets up logs of its own.
func bridgeLogs(l zerolog.Logger) {
	// In a local run the harness would replace the logger with a remote one.
	hooks.DisableHook(harness.DefaultRemoteLoggingHook)
	log.SetLogger(beamLogger{l})
	slog.SetDefault(slog.New(slogHandler{l}))
}

type beamLogger struct{ l zerolog.Logger }

// Log implements Beam's log.Logger.
func (b beamLogger) Log(_ context.Context, sev log.Severity, _ int, msg string) {
	level := zerolog.DebugLevel
	switch {
	case sev >= log.SevFatal:
		level = zerolog.ErrorLevel // Beam ends the process after this line
	case sev >= log.SevError:
		level = zerolog.InfoLevel // the command reports its error itself
	case sev < log.SevInfo:
		level = zerolog.TraceLevel
	}
	b.l.WithLevel(level).Str("from", "beam").Msg(msg)
}

type slogHandler struct{ l zerolog.Logger }

func (h slogHandler) Enabled(context.Context, slog.Level) bool {
	return h.l.GetLevel() <= zerolog.InfoLevel
}

func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	level := zerolog.DebugLevel
	if r.Level >= slog.LevelError {
		level = zerolog.InfoLevel
	}
	if level < h.l.GetLevel() {
		return nil
	}
	e := h.l.WithLevel(level).Str("from", "runner")
	r.Attrs(func(a slog.Attr) bool {
		e = e.Str(a.Key, a.Value.String())
		return true
	})
	e.Msg(r.Message)
	return nil
}

func (h slogHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h slogHandler) WithGroup(string) slog.Handler      { return h }
