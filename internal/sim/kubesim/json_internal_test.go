package kubesim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// draw makes a value of JSON; nulls only if they may be there.
func draw(rng *rand.Rand, depth int, nulls bool) any {
	switch n := rng.IntN(10); {
	case n < 4 && depth > 0:
		out := map[string]any{}
		for range rng.IntN(5) {
			out[fmt.Sprintf("f%d", rng.IntN(6))] = draw(rng, depth-1, nulls)
		}
		return out
	case n < 5 && depth > 0:
		out := []any{}
		for range rng.IntN(3) {
			out = append(out, draw(rng, depth-1, false))
		}
		return out
	case n < 6 && nulls:
		return nil
	case n < 7:
		return rng.Int64N(1000) - 500
	case n < 8:
		return rng.IntN(2) == 0
	}
	return []string{"", "plain", `a "quote" \ and`, "<html> & more", "snow ☃ \u2028", "line\nbreak\t", "\x7f", "é"}[rng.IntN(8)]
}

func drawObject(rng *rand.Rand, nulls bool) map[string]any {
	out := map[string]any{}
	for i := range 6 {
		if rng.IntN(2) == 0 {
			out[fmt.Sprintf("f%d", i)] = draw(rng, 3, nulls)
		}
	}
	return out
}

func TestObjectsAreWrittenAsJSONIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		v := drawObject(rng, true)
		v["float"], v["none"], v["empty"], v["broken"] = rng.Float64(), []any(nil), map[string]any(nil), "\xff"
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendJSON(nil, v)); got != string(want) {
			t.Fatalf("written as\n%s\nwant\n%s", got, want)
		}
	}
}

func TestMergePatchesDoWhatTheLibraryDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		old, patch := drawObject(rng, false), drawObject(rng, true)
		old["metadata"] = map[string]any{"name": "a", "labels": map[string]any{"x": "y"}}
		if rng.IntN(2) == 0 {
			patch["metadata"] = map[string]any{"labels": map[string]any{"x": nil, "z": "1"}}
		}
		was := runtime.DeepCopyJSON(old)
		text, err := jsonpatch.MergePatch(appendJSON(nil, old), appendJSON(nil, patch))
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := kjson.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		var sentPatch map[string]any
		if err := kjson.Unmarshal(appendJSON(nil, patch), &sentPatch); err != nil {
			t.Fatal(err)
		}
		got := mergeInto(old, sentPatch)
		if a, b := string(appendJSON(nil, got)), string(appendJSON(nil, want)); a != b {
			t.Fatalf("%s\nwith %s\nis %s\nwant %s", text, appendJSON(nil, patch), a, b)
		}
		got["metadata"].(map[string]any)["name"] = "another"
		if !same(old, was) {
			t.Fatal("a patch changed the object that is stored")
		}
	}
}
