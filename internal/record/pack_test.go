package record_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/kerf-sh/kerf/internal/record"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// pack2 makes a file of two documents.
func pack2(t testing.TB, documents ...string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("kerf-decision 1 test\n")
	for _, d := range documents {
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(d + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(pack2(f, `{"types":[{"name":"a"}],"lists":[[0,0]]}`, `{"classes":[{"id":"c"}],"problem":{"pending":[{"name":"b","class":1}],"pools":[{"name":"p","types":1}]},"plan":{"newNodes":[{"types":0,"pods":[1]}]}}`)))
	f.Add([]byte(pack2(f, `{"types":[],"lists":[]}`, `{"classes":[],"problem":{},"plan":{"unplaced":[{"pods":[0],"strangers":[{"name":"x"}]}]},"claims":[{"newNode":0}]}`)))
	f.Add([]byte("kerf-decision 1 v1\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := record.Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		again := written(t, d)
		second, err := record.Read(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("what was read can't be read again once written: %v", err)
		}
		if third := written(t, second); !bytes.Equal(again, third) {
			t.Errorf("writing is not stable: %d bytes, then %d", len(again), len(third))
		}
	})
}

func scenarioTerms(key string, values ...string) []requirement.Term {
	return []requirement.Term{{Key: key, Operator: requirement.In, Values: values}}
}
