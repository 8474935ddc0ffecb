package hf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spoken is a line of tokens.json: what WhisperTokenizer makes of a text.
type spoken struct {
	Text, Language, Decoded string
	IDs                     []int32
}

func readSpoken(t *testing.T, path string) []spoken {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []spoken
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (f *Folder) checkTokens(t *testing.T, all []spoken) {
	t.Helper()
	tokenizer, err := f.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	tokenizer.maxLabel = 0 // the lengths are another test's
	for _, s := range all {
		got, err := tokenizer.Encode(s.Text, s.Language)
		if err != nil {
			t.Errorf("%q: %v", s.Text, err)
			continue
		}
		if !slices.Equal(got, s.IDs[1:]) {
			t.Errorf("%q: %v, transformers: %v", s.Text, got, s.IDs[1:])
		}
		if text := tokenizer.Decode(s.IDs); text != s.Decoded {
			t.Errorf("%v decodes to %q, transformers: %q", s.IDs, text, s.Decoded)
		}
	}
}

func TestTokensEqualTransformers(t *testing.T) {
	folder, err := Open("testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	folder.checkTokens(t, readSpoken(t, "testdata/tokens.json"))
}

func TestTokenizerErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"none", func(t *testing.T, dir string) { remove(t, dir, tokenizerFile) }, "has no tokenizer.json"},
		{"no JSON", func(t *testing.T, dir string) { put(t, dir, tokenizerFile, "no") }, tokenizerFile},
		{"no BPE", func(t *testing.T, dir string) {
			put(t, dir, tokenizerFile, `{"model":{"type":"WordPiece"},"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`)
		}, `"WordPiece"`},
		{"words", func(t *testing.T, dir string) { edit(t, dir, tokenizerFile, `"ByteLevel"`, `"Whitespace"`) }, "splits by"},
		{"no content", func(t *testing.T, dir string) { edit(t, dir, tokenizerFile, `"content": "<|en|>"`, `"content": ""`) }, "none of Whisper's"},
		{"prefix", func(t *testing.T, dir string) {
			edit(t, dir, tokenizerFile, `"add_prefix_space": false`, `"add_prefix_space": true`)
		}, "adds a space"},
		{"a byte", func(t *testing.T, dir string) { edit(t, dir, tokenizerFile, `"Ā": 188`, `"xx": 188`) }, "the byte 0 has no token"},
		{"a merge", func(t *testing.T, dir string) { edit(t, dir, tokenizerFile, `"th": 257`, `"xx": 257`) }, "is not in the vocabulary"},
		{"another's", func(t *testing.T, dir string) { edit(t, dir, tokenizerFile, "<|notimestamps|>", "<|never|>") }, "no token <|notimestamps|>"},
		{"vocabulary", func(t *testing.T, dir string) { edit(t, dir, tokenizerFile, `"id": 286`, `"id": 999`) }, "does not belong to"},
		{"start", func(t *testing.T, dir string) { edit(t, dir, configFile, `start_token_id": 277`, `start_token_id": 3`) }, "decoder_start_token_id 3"},
		{"end", func(t *testing.T, dir string) { edit(t, dir, configFile, `eos_token_id": 276`, `eos_token_id": 3`) }, "eos_token_id 3"},
		{"language", func(t *testing.T, dir string) { edit(t, dir, generationFile, `"<|de|>": 280`, `"<|de|>": 279`) }, "lang_to_id"},
	} {
		dir := copyTiny(t)
		c.change(t, dir)
		folder, err := Open(dir)
		if err == nil {
			_, err = folder.Tokenizer()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	folder, err := Open("testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := folder.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokenizer.Encode("\xff", "en"); err == nil {
		t.Error("a text that is not UTF-8 was taken")
	}
	if _, err := tokenizer.Encode("a", "xx"); err == nil || !strings.Contains(err.Error(), `no language "xx": it has de en zh`) {
		t.Errorf("an unknown language: %v", err)
	}
	if _, err := tokenizer.Encode(strings.Repeat("z", 20), "en"); err != nil {
		t.Errorf("the longest text: %v", err)
	}
	for _, n := range []int{21, 1 << 20} {
		if _, err := tokenizer.Encode(strings.Repeat("z", n), "en"); err == nil || !strings.Contains(err.Error(), "max_target_positions") {
			t.Errorf("a text of %d letters: %v", n, err)
		}
	}
}

func TestEnglishOnly(t *testing.T) {
	dir := copyTiny(t)
	edit(t, dir, generationFile, `"is_multilingual": true`, `"is_multilingual": false`)
	folder, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := folder.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := tokenizer.Prompt("en")
	if want := []int32{277, 286}; err != nil || !slices.Equal(prompt, want) {
		t.Errorf("prompt %v, %v; want %v", prompt, err, want)
	}
}

// copyTiny copies the golden folder, for tests that spoil it.
func copyTiny(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, dir, name, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), from) {
		t.Fatalf("%s has no %q", name, from)
	}
	put(t, dir, name, strings.ReplaceAll(string(data), from, to))
}
