package wire

import (
	"slices"
	"testing"
)

func TestReplyRoundTrip(t *testing.T) {
	for _, samples := range [][]int16{nil, {0, 1, -1, 32767, -32768}} {
		want := Reply{Rate: 22050, Fingerprint: "x", Refusal: "no", Detail: "\"…"}
		b, err := want.Encode(samples)
		if err != nil {
			t.Fatal(err)
		}
		got, back, err := DecodeReply(b)
		if err != nil || got != want || !slices.Equal(back, samples) {
			t.Errorf("got %+v %v, %v", got, back, err)
		}
	}
}

func FuzzDecodeReply(f *testing.F) {
	for _, r := range []Reply{{}, {Rate: 1, Detail: "d"}} {
		b, err := r.Encode([]int16{1, -2})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, samples, err := DecodeReply(b)
		if err != nil {
			return
		}
		again, err := r.Encode(samples)
		if err != nil {
			t.Fatal(err)
		}
		r2, samples2, err := DecodeReply(again)
		if err != nil || r2 != r || !slices.Equal(samples, samples2) {
			t.Errorf("%+v became %+v, %v", r, r2, err)
		}
	})
}

func FuzzDecodeRequest(f *testing.F) {
	for _, r := range []Request{{Op: OpSpeak, Voice: "jenny", Text: "hi", Speed: 1}, {Op: OpHear, Rate: 16000}, {Op: OpAdd, File: "/x"}} {
		b, err := r.Encode([]int16{3})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, samples, err := DecodeRequest(b)
		if err != nil {
			return
		}
		again, err := r.Encode(samples)
		if err != nil {
			t.Fatal(err)
		}
		if r2, samples2, err := DecodeRequest(again); err != nil || r != r2 || !slices.Equal(samples, samples2) {
			t.Errorf("%+v became %+v, %v", r, r2, err)
		}
	})
}
