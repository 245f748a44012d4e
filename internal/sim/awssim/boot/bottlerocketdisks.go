package boot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kubeletDir is where pods' ephemeral storage is.
const kubeletDir = "/var/lib/kubelet"

// bootstrapCommands acts out those of Bottlerocket's bootstrap commands that make the instance-store disks the node's
// ephemeral storage. Source: bottlerocket.dev, settings.bootstrap-commands and apiclient ephemeral-storage.
//
// Errors: a command fails without which the settings say that the instance must not boot.
func (k *Kubelet) bootstrapCommands(settings map[string]any, release string) error {
	commands, _ := settings["bootstrap-commands"].(map[string]any)
	made, bound := false, false
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		table, _ := commands[name].(map[string]any)
		t := &tomlReader{table: table, path: "settings.bootstrap-commands." + name}
		mode, essential := t.text("mode"), t.yesNo("essential")
		lines, _ := table["commands"].([]any)
		if t.err != nil {
			return t.err
		}
		if mode != "once" && mode != "always" {
			k.notef("bootstrap command %s does not run: its mode is %q", name, mode)
			continue
		}
		for _, line := range lines {
			words, err := commandWords(line)
			if err != nil {
				return fmt.Errorf("%s.commands: %w", t.path, err)
			}
			if len(words) < 3 || words[0] != "apiclient" || words[1] != "ephemeral-storage" {
				continue
			}
			switch words[2] {
			case "init":
				made = true
			case "bind":
				var dirs []string
				if dirs, err = bindDirs(words[3:], release); err == nil && !made {
					err = fmt.Errorf("there is no ephemeral storage to bind: init has not run")
				}
				bound = bound || err == nil && slices.Contains(dirs, kubeletDir)
			}
			if err == nil {
				continue
			}
			if essential != nil && *essential {
				return fmt.Errorf("the bootstrap command %s fails and is essential, so the boot ends: %w", name, err)
			}
			k.notef("bootstrap command %s fails: %v", name, err)
			break
		}
	}
	k.RAID0 = made && bound
	return nil
}

func commandWords(line any) ([]string, error) {
	list, ok := line.([]any)
	if !ok {
		return nil, fmt.Errorf("want a list of lists of words, got %v", line)
	}
	words := make([]string, len(list))
	for i, w := range list {
		if words[i], ok = w.(string); !ok {
			return nil, fmt.Errorf("want words, got %v", w)
		}
	}
	return words, nil
}

// bindDirs are the directories that are bound to the array. Releases before 1.46.0 know none by themselves.
func bindDirs(words []string, release string) ([]string, error) {
	at := slices.Index(words, "--dirs")
	switch {
	case at >= 0 && at+1 < len(words):
		return words[at+1:], nil
	case at >= 0 || olderThan(release, 1, 46):
		return nil, fmt.Errorf("apiclient ephemeral-storage bind: --dirs is missing, which release %s needs", release)
	}
	return []string{"/var/lib/containerd", kubeletDir, "/var/log/pods"}, nil
}

// olderThan compares a release such as 1.50.0 with a version; one that can't be read is not older.
func olderThan(release string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(release, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}
