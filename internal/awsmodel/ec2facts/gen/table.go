package main

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// each calls row for every row of a CSV file, packed or not. The first error of a getter is reported with the line.
func each(folder, name string, row func(r *record) error) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	head, err := rows.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := &record{at: map[string]int{}}
	for i, h := range head {
		r.at[h] = i
	}
	for n := 2; ; n++ {
		r.fields, err = rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.Join(row(r), r.err)
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w", name, n, err)
		}
	}
}

// record is a row with its column names; it keeps the first error of its getters.
type record struct {
	at     map[string]int
	fields []string
	err    error
}

func (r *record) fail(column string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("column %q: %w", column, err)
	}
}

func (r *record) str(column string) string {
	i, ok := r.at[column]
	if !ok {
		r.fail(column, errors.New("is not in the table"))
		return ""
	}
	return strings.Clone(r.fields[i])
}

func (r *record) list(column string) []string {
	if s := r.str(column); s != "" {
		return strings.Split(s, "|")
	}
	return nil
}

func (r *record) flag(column string) bool { return r.str(column) == "1" }

func (r *record) num(column string) int {
	s := r.str(column)
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		r.fail(column, err)
	}
	return n
}

func (r *record) float(column string) float64 {
	s := r.str(column)
	if s == "" {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		r.fail(column, err)
	}
	return v
}

// milli reads a decimal number as thousandths.
func (r *record) milli(column string) int { return int(r.float(column)*1000 + 0.5) }

func (r *record) nums(column string) []int {
	var out []int
	for _, part := range r.list(column) {
		times, value := 1, part
		var err error
		if n, v, ok := strings.Cut(part, "x"); ok {
			if times, err = strconv.Atoi(n); err != nil {
				r.fail(column, err)
			}
			value = v
		}
		v, err := strconv.Atoi(value)
		if err != nil {
			r.fail(column, err)
		}
		for range times {
			out = append(out, v)
		}
	}
	return out
}

// words maps the table's short words to those of the EC2 API.
func (r *record) word(column string) string {
	s := r.str(column)
	if long, ok := map[string]string{"req": "required", "yes": "supported", "no": "unsupported", "": "", "default": "default"}[s]; ok {
		return long
	}
	r.fail(column, fmt.Errorf("unknown word %q", s))
	return ""
}
