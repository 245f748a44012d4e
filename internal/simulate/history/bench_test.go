package history_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/history"
)

// sampleLines are the lines of the sample of an audit log.
func sampleLines(t testing.TB) [][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/audit-export/exported/*/kube-apiserver-audit-*/*.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sample of an audit log: %v", err)
	}
	var out [][]byte
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		out = append(out, bytes.Split(bytes.TrimSpace(text), []byte{'\n'})...)
	}
	return out
}

// longLog writes an audit log of so many bytes: the sample again and again. Most of a real log are reads and leases, so the
// sample, which is mostly of pods, is the harder one.
func longLog(t testing.TB, path string, size int64, each func(line []byte) []byte) int64 {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, written := sampleLines(t), int64(0)
	for written < size {
		for _, line := range lines {
			n, err := f.Write(each(line))
			if err != nil {
				t.Fatal(err)
			}
			written += int64(n)
		}
	}
	return written
}

func plainLine(line []byte) []byte { return append(line[:len(line):len(line)], '\n') }

// BenchmarkAuditLog reads an exported audit log; MB/s is of unpacked bytes.
func BenchmarkAuditLog(b *testing.B) {
	path := filepath.Join(b.TempDir(), "000000")
	b.SetBytes(longLog(b, path, 32<<20, plainLine))
	for b.Loop() {
		if _, _, err := history.Read([]string{path}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAuditLogOfReads reads one in which nine of ten lines are of no pods, as in a real one.
func BenchmarkAuditLogOfReads(b *testing.B) {
	path := filepath.Join(b.TempDir(), "000000")
	list := bytes.ReplaceAll(sampleLines(b)[1], []byte{'\n'}, nil)
	if !bytes.Contains(list, []byte(`"verb":"list"`)) {
		b.Fatal("the second line of the sample is no list")
	}
	b.SetBytes(longLog(b, path, 32<<20, func(line []byte) []byte {
		out := plainLine(line)
		for len(out) < 10*len(line) {
			out = append(append(out, list...), '\n')
		}
		return out
	}))
	for b.Loop() {
		if _, _, err := history.Read([]string{path}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFilterLogEvents reads the same as aws logs filter-log-events prints it.
func BenchmarkFilterLogEvents(b *testing.B) {
	path := filepath.Join(b.TempDir(), "events.json")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	size := int64(0)
	put := func(text string) {
		n, err := f.WriteString(text)
		if err != nil {
			b.Fatal(err)
		}
		size += int64(n)
	}
	put(`{"events":[`)
	for lines := sampleLines(b); size < 16<<20; {
		for _, line := range lines {
			_, message, _ := bytes.Cut(line, []byte{' '})
			escaped, err := json.Marshal(string(message))
			if err != nil {
				b.Fatal(err)
			}
			put(fmt.Sprintf(`{"logStreamName":"kube-apiserver-audit-0","timestamp":1795168800000,"message":%s},`, escaped))
		}
	}
	put(`{"timestamp":1795168800000,"message":"end"}]}`)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, _, err := history.Read([]string{path}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMemoryGrowsWithPodsNotBytes reads a log that is eight times as long, of the same pods, and wants it to keep no more.
func TestMemoryGrowsWithPodsNotBytes(t *testing.T) {
	kept := func(size int64) (uint64, int) {
		path := filepath.Join(t.TempDir(), "000000")
		longLog(t, path, size, plainLine)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w, account, err := history.Read([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(w)
		return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc, account.Pods
	}
	small, pods := kept(1 << 20)
	large, same := kept(8 << 20)
	if pods != same {
		t.Fatalf("%d pods of the short log and %d of the long one, want the same", pods, same)
	}
	if large > small+1<<20 {
		t.Errorf("8 MiB of log keep %d bytes, 1 MiB keep %d", large, small)
	}
}

// TestLongHistoriesOfManyPods wants the steps of many pods in little more than the time that it takes to read them.
func TestLongHistoriesOfManyPods(t *testing.T) {
	const pods = 20_000
	path := filepath.Join(t.TempDir(), "events.json")
	var out bytes.Buffer
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	out.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range pods {
		at := begin.Add(time.Duration(i) * 10 * time.Second)
		for k, e := range []struct{ reason, message string }{{"Scheduled", "Successfully assigned"}, {"Killing", "Stopping container main"}} {
			fmt.Fprintf(&out, `{"kind":"Event","apiVersion":"v1","metadata":{},"involvedObject":{"kind":"Pod","namespace":"shop","name":"web-7d4b9c6f5d-%05d","uid":"%d"},"reason":%q,"message":%q,"firstTimestamp":%q},`,
				i, i, e.reason, e.message, at.Add(time.Duration(k)*time.Hour).Format(time.RFC3339))
			fmt.Fprintf(&out, `{"kind":"Event","apiVersion":"v1","metadata":{},"involvedObject":{"kind":"ReplicaSet","namespace":"shop","name":"web-7d4b9c6f5d"},"reason":"SuccessfulCreate","message":"Created pod: web-7d4b9c6f5d-%05d","firstTimestamp":%q},`, i, at.Format(time.RFC3339))
		}
	}
	out.Truncate(out.Len() - 1)
	out.WriteString("]}")
	write(t, path, out.Bytes())
	w, account, err := history.Read([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	// A pod comes every ten seconds and stays an hour: each is in the place of one that went.
	if account.Pods != pods || w.Peak(0) < 359 || w.Peak(0) > 361 || account.Demand > 400 {
		t.Errorf("%d pods, at most %d at once, %d of them demand, want %d, 360 and as many", account.Pods, w.Peak(0), account.Demand, pods)
	}
}
