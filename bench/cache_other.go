//go:build !linux

package bench

import (
	"errors"
	"os"
)

var errNoCache = errors.New("only Linux lets files be dropped from the page cache: measure without --cold")

func forget(*os.File) error { return errNoCache }

func resident(string) (held, pages int, err error) { return 0, 0, errNoCache }
