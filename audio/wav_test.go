package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-audio/wav"
)

// chunk is a RIFF chunk with its padding.
func chunk(id string, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// riff is a file of the given chunks.
func riff(chunks ...[]byte) []byte {
	return chunk("RIFF", append([]byte("WAVE"), bytes.Join(chunks, nil)...))
}

// fmtBody is a plain fmt chunk's content.
func fmtBody(tag, channels, rate, bits int) []byte {
	f := format{tag: tag, channels: channels, rate: rate, bits: bits}
	return appendHeader(nil, f, 0)[20:36]
}

// extensible is an extensible fmt chunk's content.
func extensible(tag, channels, rate, bits int) []byte {
	b := fmtBody(tagExtensible, channels, rate, bits)
	b = binary.LittleEndian.AppendUint16(b, 22)
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	b = binary.LittleEndian.AppendUint32(b, 3)
	b = binary.LittleEndian.AppendUint16(b, uint16(tag))
	return append(b, guidTail...)
}

// le packs values of the given width in bytes.
func le(width int, values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = append(b, binary.LittleEndian.AppendUint32(nil, uint32(v))[:width]...)
	}
	return b
}

func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// claim makes the data chunk's header claim size, and the RIFF header outer.
func claim(file []byte, outer, size uint32) []byte {
	file = slices.Clone(file)
	binary.LittleEndian.PutUint32(file[4:], outer)
	binary.LittleEndian.PutUint32(file[bytes.Index(file, []byte("data"))+4:], size)
	return file
}

func TestDecodeWAV(t *testing.T) {
	mono16 := riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", le(2, 1, -2, 32767, -32768)))
	list := chunk("LIST", []byte("INFOodd"))
	for _, tc := range []struct {
		name string
		file []byte
		rate int
		want []int16
	}{
		{"mono 16", mono16, 16000, []int16{1, -2, 32767, -32768}},
		{"empty", riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", nil)), 16000, nil},
		{"mono 8", riff(chunk("fmt ", fmtBody(1, 1, 8000, 8)), chunk("data", []byte{0, 128, 255})), 8000, []int16{-32768, 0, 32512}},
		{"mono 24, odd bytes", riff(chunk("fmt ", fmtBody(1, 1, 48000, 24)), chunk("data", le(3, 0x7fff00, -0x800000, 0x180))), 48000, []int16{32767, -32768, 2}},
		{"mono 24 clamps", riff(chunk("fmt ", fmtBody(1, 1, 48000, 24)), chunk("data", le(3, 0x7fffff))), 48000, []int16{32767}},
		{"mono 32", riff(chunk("fmt ", fmtBody(1, 1, 44100, 32)), chunk("data", le(4, 5<<16, -7<<16, math.MinInt32))), 44100, []int16{5, -7, -32768}},
		{"float", riff(chunk("fmt ", fmtBody(3, 1, 24000, 32)), chunk("data", floats(0.5, -1, 2, -2, 0))), 24000, []int16{16384, -32768, 32767, -32768, 0}},
		{"stereo 16", riff(chunk("fmt ", fmtBody(1, 2, 22050, 16)), chunk("data", le(2, 10, 20, -32768, -32768, 1, 2))), 22050, []int16{15, -32768, 2}},
		{"stereo float", riff(chunk("fmt ", fmtBody(3, 2, 22050, 32)), chunk("data", floats(1, -1, 0.25, 0.75))), 22050, []int16{0, 16384}},
		{"three channels of 8", riff(chunk("fmt ", fmtBody(1, 3, 8000, 8)), chunk("data", []byte{128, 129, 130})), 8000, []int16{256}},
		{"extensible 16", riff(chunk("fmt ", extensible(1, 1, 16000, 16)), chunk("data", le(2, 7))), 16000, []int16{7}},
		{"extensible 24 stereo", riff(chunk("fmt ", extensible(1, 2, 16000, 24)), chunk("data", le(3, 512, 1024))), 16000, []int16{3}},
		{"extensible float", riff(chunk("fmt ", extensible(3, 1, 16000, 32)), chunk("data", floats(0.25))), 16000, []int16{8192}},
		{"odd chunks between and after", riff(list, chunk("fmt ", fmtBody(1, 1, 16000, 16)), list, chunk("data", le(2, 9)), list), 16000, []int16{9}},
		{"espeak's pipe", claim(mono16, 0x7ffff024, 0x7ffff000), 16000, []int16{1, -2, 32767, -32768}},
		{"ffmpeg's pipe", claim(mono16, 0xffffffff, 0xffffffff), 16000, []int16{1, -2, 32767, -32768}},
		{"a pipe of size 0", claim(mono16, 36, 0), 16000, []int16{1, -2, 32767, -32768}},
		{"a pipe cut inside a sample", claim(mono16[:len(mono16)-1], 0, 0xffffffff), 16000, []int16{1, -2, 32767}},
		{"empty, then a LIST", riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", nil), list), 16000, nil},
		{"bytes beyond the RIFF chunk", append(slices.Clone(mono16), "trailing"...), 16000, []int16{1, -2, 32767, -32768}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := DecodeWAV(tc.file)
			if err != nil {
				t.Fatal(err)
			}
			if got.Rate != tc.rate || !slices.Equal(got.Samples, tc.want) {
				t.Errorf("got %v, want %v at %d", got, tc.want, tc.rate)
			}
		})
	}
}

func TestDecodeWAVRefuses(t *testing.T) {
	good := chunk("fmt ", fmtBody(1, 1, 16000, 16))
	data := chunk("data", le(2, 1, 2, 3, 4))
	whole := riff(good, data)
	badGUID := extensible(1, 1, 16000, 16)
	badGUID[39]++
	frame := fmtBody(1, 1, 16000, 16)
	frame[12] = 3
	for _, tc := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "not a wav file"},
		{"mp3", []byte("ID3\x04................"), "not a wav file"},
		{"big-endian", append([]byte("RIFX"), whole[4:]...), "not a wav file"},
		{"truncated", whole[:len(whole)-3], "expected 8 bytes of data, found 5"},
		{"sentinel's neighbour", claim(whole, 0, 0x7ffff001), "expected 2147479553 bytes of data, found 8"},
		{"no data", riff(good), "no data chunk"},
		{"no fmt", riff(data), "before any fmt"},
		{"short fmt", riff(chunk("fmt ", make([]byte, 15)), data), "fmt chunk of 15 bytes"},
		{"huge fmt", append(riff(), "fmt \xf0\xff\xff\xff1234"...), "truncated: chunk \"fmt \" of 4294967280 bytes, found 4"},
		{"0 channels", riff(chunk("fmt ", fmtBody(1, 0, 16000, 16)), data), "0 channels"},
		{"rate 0", riff(chunk("fmt ", fmtBody(1, 1, 0, 16)), data), "sample rate 0"},
		{"rate 999", riff(chunk("fmt ", fmtBody(1, 1, 999, 16)), data), "sample rate 999"},
		{"rate 768001", riff(chunk("fmt ", fmtBody(1, 1, 768001, 16)), data), "sample rate 768001"},
		{"12 bits", riff(chunk("fmt ", fmtBody(1, 1, 16000, 12)), data), "12 bits is not supported"},
		{"64-bit float", riff(chunk("fmt ", fmtBody(3, 1, 16000, 64)), data), "64 bits is not supported"},
		{"mu-law", riff(chunk("fmt ", fmtBody(7, 1, 8000, 8)), data), "0x0007 of 8 bits is not supported"},
		{"unknown GUID", riff(chunk("fmt ", badGUID), data), "unknown kind"},
		{"short extensible", riff(chunk("fmt ", fmtBody(tagExtensible, 1, 16000, 16)), data), "unknown kind"},
		{"frame size", riff(chunk("fmt ", frame), data), "says 3 bytes a frame"},
		{"part of a frame", riff(chunk("fmt ", fmtBody(1, 3, 16000, 16)), data), "not whole frames of 6"},
		{"NaN", riff(chunk("fmt ", fmtBody(3, 1, 16000, 32)), chunk("data", floats(0, float32(math.NaN())))), "sample 1 is NaN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := DecodeWAV(tc.file)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v and error %v, want %q", p, err, tc.want)
			}
		})
	}
}

func TestReadWAVNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut.wav")
	whole := AppendWAV(nil, PCM{Rate: 16000, Samples: noise(10)})
	if err := os.WriteFile(path, whole[:50], 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := ReadWAV(path)
	if want := path + ": truncated: expected 20 bytes of data, found 6"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err := ReadWAV(path + "x"); !os.IsNotExist(err) {
		t.Errorf("a missing file gave %v", err)
	}
}

// TestAppendWAV reads what we write with go-audio, and with ourselves.
func TestAppendWAV(t *testing.T) {
	p := PCM{Rate: 22050, Samples: noise(5001)}
	prefix := []byte("prefix")
	file := AppendWAV(prefix, p)[len(prefix):]
	if len(file) != headerSize+2*len(p.Samples) {
		t.Errorf("%d bytes", len(file))
	}
	dec := wav.NewDecoder(bytes.NewReader(file))
	if !dec.IsValidFile() {
		t.Fatal("go-audio calls the file invalid")
	}
	buf, err := dec.FullPCMBuffer()
	if err != nil {
		t.Fatal(err)
	}
	if dec.NumChans != 1 || dec.BitDepth != 16 || dec.SampleRate != 22050 || dec.WavAudioFormat != 1 || dec.AvgBytesPerSec != 44100 {
		t.Errorf("go-audio reads %+v", dec)
	}
	equal := func(a int, b int16) bool { return a == int(b) }
	if !slices.EqualFunc(buf.Data, p.Samples, equal) {
		t.Error("go-audio reads other samples")
	}
	back, err := DecodeWAV(file)
	if err != nil || back.Rate != p.Rate || !slices.Equal(back.Samples, p.Samples) {
		t.Errorf("reads back differently: %v", err)
	}
}

// TestReadWAVFromEspeak compares espeak's pipe, whose sizes are lies, with its
// file, whose sizes are true.
func TestReadWAVFromEspeak(t *testing.T) {
	espeak, err := exec.LookPath("espeak-ng")
	if err != nil {
		t.Skip("espeak-ng is not installed")
	}
	path := filepath.Join(t.TempDir(), "e.wav")
	if out, err := exec.Command(espeak, "-w", path, "hello").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := ReadWAV(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(espeak, "--stdout", "hello").Output()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := DecodeWAV(out)
	if err != nil {
		t.Fatal(err)
	}
	if file.Rate != 22050 || file.Seconds() < 0.2 || !slices.Equal(file.Samples, pipe.Samples) {
		t.Errorf("file: %d samples at %d, pipe: %d", len(file.Samples), file.Rate, len(pipe.Samples))
	}
}
