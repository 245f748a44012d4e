package record_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
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

// FuzzDocuments changes what is inside a file, where FuzzRead mostly fails at the checksum, and solves what can be read.
func FuzzDocuments(f *testing.F) {
	f.Add(`{"types":[{"name":"a","capacity":{"cpu":4000,"memory":8589934592,"pods":10},"offerings":[{"zone":"z","capacityType":"spot","price":10,"available":true}]}],"lists":[[0,0]]}`,
		`{"classes":[{"id":"c","namespace":"n","requests":{"cpu":100,"pods":1}}],"problem":{"nodes":[{"name":"x","allocatable":{"cpu":50},"pods":[{"name":"b","class":1}]}],"pending":[{"name":"b","class":1},{"name":"d","class":1}],"pools":[{"name":"p","types":1,"limits":{"cpu":8000}}],"daemons":[{"name":"n/l","class":1}]},"choices":[{"name":"a"}],"choiceLists":[[1]],"plan":{"newNodes":[{"types":1,"pods":[1]}]}}`)
	f.Add(`{"types":[],"lists":[]}`, `{"classes":[{"id":"c","spreads":[{"key":"kubernetes.io/hostname","maxSkew":1,"selector":{}}],"antiAffinity":[{"key":"zone","selector":{"terms":[{"key":"a","operator":"Exists"}]}}]}],"problem":{"pending":[{"name":"b","class":1}],"pools":[{"name":"p"}]},"plan":{"unplaced":[{"pods":[0],"strangers":[{"name":"x"}]}]},"claims":[]}`)
	f.Fuzz(func(t *testing.T, types, decision string) {
		file := pack2(t, types, decision)
		d, err := record.Read(bytes.NewReader([]byte(file)))
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
		_ = written(t, record.HashNames(d))
		p, err := record.Replay(d)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := record.Replay(second); err != nil || !record.SamePlan(p, q) {
			t.Errorf("solved to another plan after being written and read: %v", err)
		}
	})
}
