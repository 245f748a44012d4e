package wire

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDecodeCBOR uses examples of RFC 8949, appendix A.
func TestDecodeCBOR(t *testing.T) {
	for text, want := range map[string]any{
		"00": uint64(0), "17": uint64(23), "1818": uint64(24), "1903e8": uint64(1000), "1bffffffffffffffff": uint64(math.MaxUint64),
		"20": int64(-1), "3903e7": int64(-1000), "f90000": 0.0, "f93c00": 1.0, "f97bff": 65504.0, "f90001": 5.960464477539063e-8,
		"fa47c35000": 100000.0, "fb3ff199999999999a": 1.1, "f4": false, "f5": true, "f6": nil, "c11a514b67b0": uint64(1363896240),
		"4401020304": []byte{1, 2, 3, 4}, "6161": "a", "62c3bc": "ü", "80": []any{}, "83010203": []any{uint64(1), uint64(2), uint64(3)},
		"a26161016162820203":                   map[string]any{"a": uint64(1), "b": []any{uint64(2), uint64(3)}},
		"bf61610161629f0203ffff":               map[string]any{"a": uint64(1), "b": []any{uint64(2), uint64(3)}},
		"5f42010243030405ff":                   []byte{1, 2, 3, 4, 5},
		"7f657374726561646d696e67ff":           "streaming",
		"f97c00":                               math.Inf(1),
		"c1fb41d452d9ec200000":                 1363896240.5,
		"a0":                                   map[string]any{},
		"826161bf61626163ff":                   []any{"a", map[string]any{"b": "c"}},
		"1a000f4240":                           uint64(1000000),
		"f9c400":                               -4.0,
		"d74401020304":                         []byte{1, 2, 3, 4},
		"9fff":                                 []any{},
		"a56161614161626142616361436164614461": nil, // cut off
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeCBOR(data)
		if strings.HasPrefix(text, "a56161") {
			if err == nil {
				t.Errorf("%s is cut off and is read as %v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestDecodeCBORRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "more than one item": "0000", "a break alone in a list": "81ff", "a key that is no text": "a10101",
		"a length beyond the end": "5b7fffffffffffffff", "a reserved length": "1c", "a number of unsaid length": "1f",
		"a list without end": "9f01", "a text of pieces of bytes": "7f4101ff", "a break as a value": "bf6161ff",
		"a reserved simple value": "e0", "deep": strings.Repeat("81", 200) + "00",
	} {
		data, _ := hex.DecodeString(text)
		if v, err := decodeCBOR(data); err == nil && v != (breakMark{}) {
			t.Errorf("%s is read as %v", name, v)
		}
	}
}

func TestEncodeCBORIsReadBack(t *testing.T) {
	n := 7
	type part struct {
		Name  string `json:"name"`
		Skip  string `json:"skip,omitempty"`
		Count *int
		At    Timestamp `json:"at"`
		none  int
	}
	got, err := encodeCBOR(map[string]any{
		"parts": []part{{Name: "a", Count: &n, At: Timestamp(time.UnixMilli(1500)), none: 1}}, "f": 2.0, "yes": true, "no": false, "neg": -5,
		"nil": nil, "long": strings.Repeat("x", 300), "big": int64(1 << 40), "empty": []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeCBOR(got)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"parts": []any{map[string]any{"name": "a", "Count": uint64(7), "at": 1.5}}, "f": 2.0, "yes": true, "no": false, "neg": int64(-5),
		"long": strings.Repeat("x", 300), "big": uint64(1 << 40), "empty": []any{},
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Error(diff)
	}
	if text, err := json.Marshal(Timestamp(time.UnixMilli(1700000000250))); err != nil || string(text) != "1700000000.25" {
		t.Errorf("as JSON: %s, %v", text, err)
	}
	if _, err := encodeCBOR(map[string]any{"f": func() {}}); err == nil {
		t.Error("a function is encoded")
	}
}

func FuzzDecodeCBOR(f *testing.F) {
	f.Add([]byte{0xbf, 0x61, 0x61, 0x01, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decodeCBOR(data)
		if err != nil {
			return
		}
		_, _ = json.Marshal(v)
	})
}
