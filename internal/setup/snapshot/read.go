package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Read reads what ReadFile does.
func Read(r io.Reader) (*Snapshot, error) {
	s, _, err := read(r)
	return s, err
}

// read also says whether the time is that of reading, for what was read has none.
func read(r io.Reader) (s *Snapshot, timeless bool, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, false, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(z)
		}
		if err != nil {
			return nil, false, fmt.Errorf("the file is damaged: %w", err)
		}
	}
	in := &reader{s: &Snapshot{}, skipped: map[string]map[string]int{}}
	d := json.NewDecoder(bytes.NewReader(utf8Of(data)))
	for first := true; ; first = false { // several Lists, as of several calls of kubectl, are one
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) && !first {
			break
		}
		if err == nil {
			err = in.file(raw, first)
		} else {
			err = fmt.Errorf("not JSON of a snapshot or of kubectl get -o json: %w", err)
		}
		if err != nil {
			return nil, false, err
		}
	}
	timeless = in.s.TakenAt.IsZero()
	return in.done(), timeless, nil
}

// utf8Of is a text without a byte order mark: PowerShell writes one, and UTF-16 in its older versions.
func utf8Of(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return data[3:]
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// reader reads the values of a file.
type reader struct {
	s        *Snapshot
	snapshot bool // it is a file of this form
	// skipped counts objects that are read in another version only, by resource and then by apiVersion and kind.
	skipped map[string]map[string]int
}

// file reads a value at the top.
func (r *reader) file(raw json.RawMessage, first bool) error {
	var file struct {
		header
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if file.Snapshot = r.s; !first {
		file.Snapshot = &Snapshot{}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("not JSON of a snapshot or of kubectl get -o json: %w", err)
	}
	switch {
	case file.Format == Format && file.Version != Version:
		return fmt.Errorf("the snapshot has version %d, and this kerf reads version %d: use the kerf that wrote it, or write it anew with kerf audit --snapshot", file.Version, Version)
	case !first && (file.Format != "" || r.snapshot):
		return errors.New("there is something behind a snapshot in one file: put each snapshot into a file of its own")
	case file.Format == "" && file.Kind != "" && file.Items == nil:
		file.Items = []json.RawMessage{raw} // one object
	case file.Format == "" && file.Items != nil:
	case file.Format != Format:
		return errors.New(`neither a snapshot ("format": "kerf.sh/snapshot") nor a List of kubectl get -o json: write one with kerf audit --snapshot FILE`)
	}
	r.snapshot = file.Format == Format
	return r.add(file.Items, file.APIVersion, file.Kind)
}

// add takes in objects of any kinds; those of kinds that nobody reads are passed over. Those of a typed list, as the API itself writes
// it, need not say what they are.
func (r *reader) add(items []json.RawMessage, listVersion, listKind string) error {
	for i, raw := range items {
		var meta struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Items      []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &meta); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		if strings.HasSuffix(meta.Kind, "List") && meta.Items != nil {
			if err := r.add(meta.Items, meta.APIVersion, meta.Kind); err != nil {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
			continue
		}
		if meta.Kind == "" && listKind != "List" {
			meta.Kind, meta.APIVersion = strings.TrimSuffix(listKind, "List"), listVersion
		}
		k := kindOf(meta.APIVersion, meta.Kind)
		if k == nil {
			r.skip(meta.APIVersion, meta.Kind)
			continue
		}
		if err := k.add(&r.s.Objects, raw); err != nil {
			return fmt.Errorf("items[%d], %s: %w", i, meta.Kind, err)
		}
	}
	return nil
}

// earlier are kinds that were another kind in earlier versions of Karpenter, by the resource that they are now.
var earlier = map[string]string{"Provisioner": "nodepools", "AWSNodeTemplate": "ec2nodeclasses", "Machine": "nodeclaims"}

// skip notes an object that would be read in another version.
func (r *reader) skip(apiVersion, name string) {
	group, _, _ := strings.Cut(apiVersion, "/")
	resource := ""
	if group == karpv1.GroupVersion.Group || group == awsv1.GroupVersion.Group {
		resource = earlier[name]
	}
	for _, k := range kinds {
		if k.gvk.Kind == name && k.gvk.Group == group {
			resource = k.resource
		}
	}
	if resource == "" {
		return
	}
	if r.skipped[resource] == nil {
		r.skipped[resource] = map[string]int{}
	}
	r.skipped[resource][apiVersion+" "+name]++
}

// done makes the snapshot of what was read.
func (r *reader) done() *Snapshot {
	s := r.s
	if s.TakenAt.IsZero() {
		s.TakenAt, s.TimeOf = time.Now().UTC().Truncate(time.Second), "reading it"
	}
	for _, k := range kinds {
		var what []string
		for name, n := range r.skipped[k.resource] {
			version, kind, _ := strings.Cut(name, " ")
			what = append(what, fmt.Sprintf("%d %s of %s", n, kind+cond(n > 1, "s", ""), version))
		}
		slices.Sort(what)
		switch {
		case len(what) > 0:
			why := strings.Join(what, " and ") + " were not read, only those of " + k.gvk.GroupVersion().String() + " are"
			if k.gvk.Group == karpv1.GroupVersion.Group || k.gvk.Group == awsv1.GroupVersion.Group {
				why += " (kerf convert makes these of them)"
			}
			s.Gaps = append(s.Gaps, Gap{Kind: k.resource, Why: why, Versions: true})
		case !r.snapshot && len(k.all(&s.Objects)) == 0: // whoever ran kubectl chose what to read
			s.Gaps = append(s.Gaps, Gap{Kind: k.resource, Why: "the file has none", Absent: k.optional})
		}
	}
	s.FromKubectl = s.FromKubectl || !r.snapshot
	s.settle()
	return s
}

func cond(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}
