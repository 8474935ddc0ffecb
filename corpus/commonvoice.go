package corpus

import (
	"path"
	"path/filepath"
	"strings"
)

// commonVoice is tsv without quotes, whose path column names the clip.
type commonVoice struct {
	tsvRows
	path int
}

func newCommonVoice(scan *scanner) (records, error) {
	c := &commonVoice{}
	if err := c.readHeader(scan); err != nil {
		return nil, err
	}
	var err error
	if c.path, err = c.columns.require("path"); err != nil {
		return nil, err
	}
	if c.columns.text, err = c.columns.require("sentence"); err != nil {
		return nil, err
	}
	return &lines{scan, c.parse}, nil
}

func (c *commonVoice) parse(raw []byte) (Line, error) {
	l, err := c.tsvRows.parse(raw)
	if len(c.row) != len(c.columns.names) {
		return l, err
	}
	clip := strings.TrimSpace(c.row[c.path])
	l.ID = strings.TrimSuffix(clip, path.Ext(clip))
	l.Audio = ""
	// The clips are mp3, unless somebody converted them.
	if isWav(clip) {
		l.Audio = filepath.Join("clips", clip)
	}
	return l, err
}
