package workload

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ReadFile reads a trace, compressed if its name ends in .gz. Templates are those that rows may name; nil: there are none.
//
// Errors: *Error; one from opening the file.
func ReadFile(path string, templates map[string]*corev1.PodTemplateSpec) (*Workload, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	defer f.Close()
	var in io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, &Error{File: path, Text: fmt.Sprintf("its name ends in .gz, but it is not gzip: %v", err)}
		}
	}
	return Read(path, in, templates)
}

// peeked is how much of a file is looked at before it is read.
const peeked = 4096

// rowsOf is a trace from its first row on, and what separates its columns: a comma, or what spreadsheets write in its place, a
// semicolon or a tab.
//
// Errors: *Error where it is no table.
func rowsOf(name string, in io.Reader) (rows io.Reader, separator rune, err error) {
	buffered := bufio.NewReaderSize(in, peeked)
	begin, err := buffered.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, &Error{File: name, Text: err.Error()}
	}
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(begin, mark) { // as spreadsheets write it
		_, _ = buffered.Discard(len(mark))
		begin = begin[len(mark):]
	}
	if bytes.HasPrefix(begin, []byte("\xff\xfe")) || bytes.HasPrefix(begin, []byte("\xfe\xff")) {
		return nil, 0, &Error{File: name, Text: "it is UTF-16: save it as UTF-8"}
	}
	if bytes.HasPrefix(begin, []byte("\x1f\x8b")) {
		return nil, 0, &Error{File: name, Text: "it is compressed: give it a name that ends in .gz"}
	}
	separator = ','
	for line := range strings.Lines(string(begin)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if what := foreign(line, begin); what != "" {
			return nil, 0, &Error{File: name, Text: "it is " + what}
		}
		if !strings.Contains(line, ",") {
			switch {
			case strings.Contains(line, ";"):
				separator = ';'
			case strings.Contains(line, "\t"):
				separator = '\t'
			}
		}
		break
	}
	return buffered, separator, nil
}

var yamlKey = regexp.MustCompile(`^(---|[A-Za-z][A-Za-z0-9]*:(\s|$))`)

// foreign says what a file is that is no CSV, and which flag takes it; empty: it may be CSV. line is its first.
func foreign(line string, begin []byte) string {
	var what string
	switch {
	case line[0] == '{' || line[0] == '[':
		what = "JSON"
	case yamlKey.MatchString(line):
		what = "YAML"
	default:
		return ""
	}
	has := func(text string) bool { return bytes.Contains(begin, []byte(text)) }
	switch {
	case has("kerf.sh/snapshot"):
		return "a snapshot of a cluster, and no trace in CSV: --snapshot takes it"
	case has("involvedObject"), has("audit.k8s.io"), has("resultType"):
		return what + " of a cluster's past, and no trace in CSV: --from-history takes it"
	}
	return what + ", and no trace in CSV: --manifests takes manifests, --snapshot what kubectl get -o json and kerf audit --snapshot write, --from-history Events, audit logs, series and dumps"
}
