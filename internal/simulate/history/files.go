package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// input is one file, or standard input.
type input struct {
	path    string
	named   bool // by the caller, not found in a folder
	changed time.Time
}

// find lists the files of paths, those of folders in order of their names. Names that begin with a dot are left out, as is
// what CloudWatch Logs writes to a bucket to see whether it can.
//
// Errors: a path can't be read.
func find(paths []string) ([]input, error) {
	var out []input
	for _, path := range paths {
		if path == "-" {
			out = append(out, input{path: path, named: true})
			continue
		}
		err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case p != path && (strings.HasPrefix(d.Name(), ".") || d.Name() == "aws-logs-write-test"):
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			info, err := os.Stat(p) // what a link leads to
			if err != nil {
				return err
			}
			if info.Mode().IsRegular() && info.Size() > 0 || p == path && !info.IsDir() {
				out = append(out, input{path: p, named: p == path, changed: info.ModTime()})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("read the history: no files in %s", strings.Join(paths, ", "))
	}
	return out, nil
}

// open is the text of a file, unpacked if it is gzip whatever its name.
func (in *input) open() (*bufio.Reader, io.Closer, error) {
	f := io.NopCloser(os.Stdin)
	if in.path != "-" {
		var err error
		if f, err = os.Open(in.path); err != nil {
			return nil, nil, fmt.Errorf("read the history: %w", err)
		}
	}
	r := bufio.NewReaderSize(f, 1<<20)
	if mark, err := r.Peek(2); err == nil && mark[0] == 0x1f && mark[1] == 0x8b {
		z, err := gzip.NewReader(r)
		if err != nil {
			f.Close()
			return nil, nil, fmt.Errorf("read the history: %s: %w", in.path, err)
		}
		r = bufio.NewReaderSize(z, 1<<20)
	}
	if mark, err := r.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = r.Discard(3)
	}
	return r, f, nil
}

// File is what was read of one file.
type File struct {
	Path string `json:"path"`
	// Format is what it was; empty: nothing that is read.
	Format string `json:"format,omitempty"`
	Bytes  int64  `json:"bytes"` // unpacked
	// Records are the objects, events, series or lines that were understood; Malformed those that were not.
	Records   int `json:"records"`
	Malformed int `json:"malformed,omitempty"`
	// At is the time of a dump, and TimeFrom what it is taken from.
	At       time.Time `json:"at,omitzero"`
	TimeFrom string    `json:"timeFrom,omitempty"`

	problem string // the first that was wrong
}

// reading is a file that is being read.
type reading struct {
	*ledger
	File
	in      input
	offset  int64 // of the line or value that is read
	line    int
	list    string // the kind of the list that is read, without List
	formats []string
	// Of a dump: its pods, and the newest moment that one of its objects speaks of.
	dump   []*pod
	isDump bool
	newest time.Time
	taken  time.Time // as a snapshot says itself
	watch  watching
}

// took notes that something of a kind of source was understood.
func (r *reading) took(kind string) {
	r.Records++
	if !slices.Contains(r.formats, kind) {
		r.formats = append(r.formats, kind)
	}
}

// bad notes that something was not understood.
func (r *reading) bad(err error) {
	r.Malformed++
	if r.problem == "" {
		r.problem = fmt.Sprintf("%s:%d: %v", r.Path, max(r.line, 1), plainError(err))
	}
}

// plainError is an error without the types of Go in it.
func plainError(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return "a " + wrong.Value + " is not what is wanted there"
		}
		parts := strings.Split(wrong.Field, ".")
		for i, p := range parts {
			parts[i] = strings.ToLower(p[:min(1, len(p))]) + p[min(1, len(p)):]
		}
		return fmt.Sprintf("%s is a %s", strings.Join(parts, "."), wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// read notes what a file says. What is read of it depends on how it begins.
//
// Errors: the file can't be read.
func (l *ledger) read(in input) (File, error) {
	r := &reading{ledger: l, in: in, File: File{Path: in.path}}
	text, closer, err := in.open()
	if err != nil {
		return r.File, err
	}
	defer closer.Close()
	counted := &counter{in: text}
	head, _ := text.Peek(64 << 10)
	switch formOf(head) {
	case formLines:
		err = r.lines(text, counted)
	case formValues:
		err = r.values(counted)
	case formTable:
		err = r.table(counted)
	default:
		if len(head) == 0 {
			return r.File, nil
		}
	}
	r.Bytes = counted.n
	if err != nil {
		if in.named && r.Records == 0 {
			return r.File, fmt.Errorf("read the history: %s: %w", in.path, err)
		}
		r.bad(err)
	}
	r.date()
	r.countLive(r.watch.now)
	r.Format = strings.Join(r.formats, ", ")
	if names := sortedKeys(r.clusters); len(names) > 1 {
		var of []string
		for _, name := range names {
			of = append(of, fmt.Sprintf("%s in %s", name, r.clusters[name]))
		}
		return r.File, fmt.Errorf("read the history: its series are of %d clusters (%s), and a history is of one: select one in each query, as in kube_pod_owner{cluster=%q}, or leave out the files of the others",
			len(names), strings.Join(of, ", "), names[0])
	}
	return r.File, nil
}

type form int

const (
	formOther form = iota
	formValues
	formLines
	formTable
)

// formOf tells how a text is built by its beginning.
func formOf(head []byte) form {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	if len(trimmed) == 0 {
		return formOther
	}
	first, _, whole := bytes.Cut(trimmed, []byte{'\n'})
	switch c := trimmed[0]; {
	case c == '{' && (bytes.HasPrefix(trimmed, []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/`)) || isAuditLine(first, whole)):
		return formLines
	case c == '{', c == '[':
		return formValues
	case c == '"' && bytes.HasPrefix(trimmed, []byte(`"{`)):
		return formValues
	case bytes.Contains(first, []byte("@message")):
		return formTable
	case bytes.Contains(head, []byte("audit.k8s.io/")) && bytes.IndexByte(head, '{') > 0:
		return formLines
	case c >= '0' && c <= '9' && bytes.IndexByte(first, '{') > 0:
		return formLines
	}
	return formOther
}

// isAuditLine tells whether a line is one whole audit event, in whatever order its fields are.
func isAuditLine(line []byte, whole bool) bool {
	line = bytes.TrimRight(line, "\r")
	return whole && bytes.HasSuffix(line, []byte{'}'}) && bytes.Contains(line, []byte(`audit.k8s.io/`)) && bytes.Contains(line, []byte(`"objectRef"`)) &&
		!bytes.Contains(line, []byte(`\"objectRef\"`))
}

// counter counts the bytes that are read through it.
type counter struct {
	in *bufio.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// lineAt is the line in which an offset of the file lies. It reads the file again, as far as that: it is asked for the
// first error only.
func (in *input) lineAt(offset int64) int {
	if in.path == "-" {
		return 1
	}
	text, closer, err := in.open()
	if err != nil {
		return 1
	}
	defer closer.Close()
	line, buf := 1, make([]byte, 64<<10)
	for offset > 0 {
		n, err := text.Read(buf[:min(int64(len(buf)), offset)])
		line += bytes.Count(buf[:n], []byte{'\n'})
		if offset -= int64(n); err != nil {
			break
		}
	}
	// The offset is behind what was read last: the value begins behind a comma and white space.
	for {
		switch c, err := text.ReadByte(); {
		case err == nil && c == '\n':
			line++
		case err == nil && (c == ',' || c == ' ' || c == '\t' || c == '\r'):
		default:
			return line
		}
	}
}

// maxLine is the longest line that is read: an entry of CloudWatch Logs is far shorter, and one without an end is no log.
const maxLine = 16 << 20

var errLong = errors.New("the line is longer than 16 MiB")

// nextLine reads a line without its end. The bytes are good until the next call.
//
// Errors: io.EOF behind the last line; errLong, and the rest of the line is skipped.
func nextLine(in *bufio.Reader, buffer *[]byte) (line []byte, size int64, err error) {
	*buffer = (*buffer)[:0]
	long := false
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if err == nil && len(*buffer) == 0 {
			return bytes.TrimRight(part, "\r\n"), size, nil
		}
		if !long {
			*buffer = append(*buffer, part...)
		}
		long = long || len(*buffer) > maxLine
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil || errors.Is(err, io.EOF) && size > 0:
			if long {
				return nil, size, errLong
			}
			return bytes.TrimRight(*buffer, "\r\n"), size, nil
		}
		return nil, size, err
	}
}
