package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// configurations reads what is to be run.
func (f *simulateFlags) configurations(in io.Reader) ([]*simulate.Configuration, error) {
	var out []*simulate.Configuration
	var given []byte // on standard input, which can be read once, and may be of each configuration
	if slices.Contains(slices.Concat(f.files, f.configuration), "-") {
		var err error
		if given, err = io.ReadAll(in); err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
	}
	read := func(name string, paths []string) error {
		files, err := simulateInputs(paths, bytes.NewReader(given))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(files, func(x simulate.File) bool { return filepath.Base(x.Name) != simulate.SettingsFile }) {
			pools, err := f.workload.pools()
			if err != nil {
				return err
			}
			files = append(files, pools...)
		}
		c, err := simulate.Configure(name, files, f.set...)
		if err != nil {
			return &usageError{err}
		}
		out = append(out, c)
		return nil
	}
	if !f.compare {
		err := read("", f.files)
		return out, err
	}
	if len(f.configuration) < 2 {
		return nil, &usageError{errors.New("--compare wants two or more folders, each with a configuration: kerf simulate --compare today/ proposal/")}
	}
	names, err := configurationNames(f.configuration)
	if err != nil {
		return nil, &usageError{err}
	}
	for i, path := range f.configuration {
		if err := read(names[i], append([]string{path}, f.files...)); err != nil {
			return nil, err
		}
	}
	if f.region == "" {
		if err := oneRegion(out); err != nil {
			return nil, &usageError{err}
		}
	}
	return out, nil
}

// oneRegion has configurations that do not say where they are played where the others are: prices of two regions differ by more than
// what is compared.
//
// Errors: two say different regions.
func oneRegion(all []*simulate.Configuration) error {
	var says *simulate.Configuration
	for _, c := range all {
		switch {
		case c.Region == "":
		case says == nil:
			says = c
		case c.Region != says.Region:
			return fmt.Errorf("--compare: the NodePools of %s are in %s and those of %s in %s, and prices of two regions can't be compared: give one with --region, or NodePools of one region",
				says.Name, says.Region, c.Name, c.Region)
		}
	}
	if says != nil {
		for _, c := range all {
			c.Region = says.Region
		}
	}
	return nil
}

// configurationNames names configurations by the last parts of their paths, and those that share such a part by their whole paths. No
// two have the same name: reports find configurations by it.
//
// Errors: a path is there twice.
func configurationNames(paths []string) ([]string, error) {
	shared, seen := map[string]int{}, map[string]string{}
	for _, path := range paths {
		shared[filepath.Base(filepath.Clean(path))]++
		whole, err := filepath.Abs(path)
		if err != nil {
			whole = filepath.Clean(path)
		}
		if other, ok := seen[whole]; ok {
			if other != path {
				path = other + " and " + path
			}
			return nil, fmt.Errorf("--compare: %s: the same folder is there twice, and a configuration compared with itself tells nothing", path)
		}
		seen[whole] = path
	}
	out := make([]string, len(paths))
	for i, path := range paths {
		if out[i] = filepath.Base(filepath.Clean(path)); shared[out[i]] > 1 {
			out[i] = filepath.Clean(path)
		}
	}
	return out, nil
}

// simulateInputs reads files and folders, of which settings.env is one.
func simulateInputs(paths []string, in io.Reader) ([]simulate.File, error) {
	var out []simulate.File
	for _, path := range paths {
		settings := filepath.Join(path, simulate.SettingsFile)
		if data, err := os.ReadFile(settings); err == nil {
			out = append(out, simulate.File{Name: settings, Data: data})
			if only, err := onlySettings(path); err != nil || only {
				continue
			}
		}
		files, err := readInputs([]string{path}, in)
		if err != nil {
			return nil, err
		}
		for _, x := range files {
			out = append(out, simulate.File{Name: x.Name, Data: x.Data})
		}
	}
	return out, nil
}

// onlySettings tells of a folder with no other file.
func onlySettings(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	return len(entries) == 1, err
}
