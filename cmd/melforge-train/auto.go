package main

import (
	"context"
	"errors"
	"math"

	"github.com/melforge/melforge/trainer/loop"
)

// maxAutoBatch bounds what --batch auto tries.
const maxAutoBatch = 4096

// The batches that tell how memory grows with clips. It grows evenly, and these
// take the least time to compile.
const fewClips, moreClips = 8, 32

// card is what --batch auto is to fill.
type card struct {
	// most is the clips that there are.
	most int
	// room is the bytes that a step may take, 0 where that is not known.
	room float64
	// memory is the bytes of the card in use, and all.
	memory func(context.Context) (used, total float64, ok bool)
	// try compiles a step of so many clips. It gives the bytes that the step takes
	// on the card, and if those are at most within, or not known (0), makes it.
	try func(clips int, within float64) (bytes float64, err error)
}

var errNoRoom = errors.New("not even one clip fits the card's memory: use --checkpointing, --dtype bfloat16 or a smaller model")

// autoBatch finds the largest batch that the card has room for, and the bytes that it
// takes, 0 where the backend does not say. Every try compiles a graph, so there
// should be few.
func (c card) autoBatch(ctx context.Context) (clips int, bytes float64, err error) {
	c.most = min(c.most, maxAutoBatch)
	n := min(fewClips, c.most)
	bytes, err = c.try(n, 0)
	if err != nil && !loop.OutOfMemory(err) {
		return 0, 0, err
	}
	if bytes > 0 && c.room > 0 {
		return c.calculate(ctx, n, bytes)
	}
	clips, err = c.search(ctx, n, err)
	return clips, 0, err
}

// calculate takes two sizes' bytes for a line, goes to where it meets the room, and
// makes sure there with a real step.
func (c card) calculate(ctx context.Context, few int, atFew float64) (clips int, bytes float64, err error) {
	more := few + moreClips - fewClips // compiled only, so there need not be as many
	atMore, err := c.try(more, 0)
	if err != nil {
		return 0, 0, err
	}
	slope := (atMore - atFew) / float64(more-few)
	n := c.most
	if slope > 0 {
		n = int(math.Floor(min(float64(n), float64(few)+(c.room-atFew)/slope)))
	}
	for n = even(n); n >= 1; {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		bytes, err := c.try(n, c.room)
		switch {
		case loop.OutOfMemory(err): // by others, or in too small pieces
			n = less(n, n*9/10)
		case err != nil:
			return 0, 0, err
		case bytes > c.room:
			n = less(n, int(c.room/bytes*float64(n)))
		default:
			return n, bytes, nil
		}
	}
	return 0, 0, errNoRoom
}

// less is a round number of at most guess, and below n.
func less(n, guess int) int {
	if guess = min(guess, n-1); guess < 1 {
		return 0
	}
	return even(guess)
}

// search tries: it grows by what a card's memory suggests, or else doubles,
// until there is no room, and then closes in on the limit. The error is that of
// a first try of n clips.
func (c card) search(ctx context.Context, n int, err error) (int, error) {
	good, bad := 0, c.most+1
	for {
		switch {
		case err == nil:
			good = n
		case loop.OutOfMemory(err):
			bad = n
		default:
			return 0, err
		}
		switch {
		case good == 0: // not even that
			n = bad / 2
		case bad-good <= max(1, good/8):
			return good, nil
		case bad <= c.most:
			n = even((good + bad) / 2)
		default:
			n = c.grow(ctx, good)
		}
		if n <= good || n >= bad {
			break
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		_, err = c.try(n, math.Inf(1))
	}
	if good == 0 {
		return 0, errNoRoom
	}
	return good, nil
}

// grow is the size to try after one that fits.
func (c card) grow(ctx context.Context, good int) int {
	next := 2 * good
	if used, total, ok := c.memory(ctx); ok && used > 0 {
		// The allocator takes memory in large pieces, so this is on the safe side.
		next = max(next, even(min(8*good, int(float64(good)*memoryPart*total/used))))
	}
	return min(next, c.most)
}

// even rounds down to a multiple of 8 where that leaves something.
func even(n int) int {
	if n >= 16 {
		return n / 8 * 8
	}
	return max(1, n)
}
