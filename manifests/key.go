package manifests

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// Key is the hash of everything that decides a clip's samples. The same key
// means the same wav, so that deduplication, caching and resuming are one
// mechanism. 128 bits of SHA-256: a billion clips collide with a chance of
// about 1e-21.
type Key [16]byte

// NewKey hashes parts. Each is preceded by its length, so that no two lists of
// parts run into each other.
func NewKey(parts ...string) Key {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		_, _ = io.WriteString(h, p)
	}
	return Key(h.Sum(nil)[:16])
}

// String is the key in 32 hex digits, as it stands in file names.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// IsZero reports whether the key was never set.
func (k Key) IsZero() bool { return k == Key{} }

// MarshalText writes the key as hex digits.
func (k Key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Key) UnmarshalText(b []byte) error {
	if len(b) != 2*len(k) {
		return fmt.Errorf("key %q: want %d hex digits", b, 2*len(k))
	}
	if _, err := hex.Decode(k[:], b); err != nil {
		return fmt.Errorf("key %q: %w", b, err)
	}
	return nil
}
