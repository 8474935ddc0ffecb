package datasets

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/melforge/melforge/manifests"
)

// RemoveDamaged removes the wavs and shards that a verification found wrong.
// Where the manifest itself is damaged dataset.json goes too: the wavs are
// found again by their keys, and only the mels are computed anew.
func (f Folder) RemoveDamaged(d *manifests.Dataset, r Report) error {
	for _, p := range r.Problems {
		remove := p.File
		switch {
		case strings.HasPrefix(p.File, wavDir+"/"), strings.HasPrefix(p.File, shardDir+"/"):
		case p.File == d.Manifest.File || p.File == d.Rejects.File || p.File == IndexName:
			remove = IndexName
		default:
			continue // a link, which the index makes anew, or a file that is not ours
		}
		if err := os.Remove(f.Path(remove)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
