package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// configurations reads what is to be run.
func (f *simulateFlags) configurations(in io.Reader) ([]*simulate.Configuration, error) {
	var out []*simulate.Configuration
	read := func(name string, paths []string) error {
		files, err := simulateInputs(paths, in)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			if files, err = f.workload.pools(); err != nil {
				return err
			}
		}
		c, err := simulate.Configure(name, files, f.set...)
		if err != nil {
			return &usageError{err}
		}
		out = append(out, c)
		return nil
	}
	if !f.compare {
		return out, read("", f.files)
	}
	if len(f.configuration) < 2 {
		return nil, &usageError{errors.New("--compare wants two or more folders, each with a configuration: kerf simulate --compare today/ proposal/")}
	}
	names := map[string]bool{}
	for _, path := range f.configuration {
		name := filepath.Base(filepath.Clean(path))
		if names[name] {
			name = filepath.Clean(path)
		}
		names[name] = true
		if err := read(name, append([]string{path}, f.files...)); err != nil {
			return nil, err
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
