package archive

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var versionLine = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// Chart packs a Helm chart as "helm package" does, with the version of the release in place of the one in the sources. It returns
// the name of the file as well.
//
// Errors: a version that is none for Helm: charts want semantic versions.
func Chart(dir, version string, made time.Time) (name string, data []byte, err error) {
	chart := filepath.Base(dir)
	number, ok := SemVer(version)
	if !ok {
		return "", nil, fmt.Errorf("chart %s: %q is no semantic version such as v1.2.3", chart, version)
	}
	files, err := Folder(dir, chart)
	if err != nil {
		return "", nil, fmt.Errorf("chart %s: %w", chart, err)
	}
	for i := range files {
		if files[i].Name == chart+"/Chart.yaml" {
			files[i].Data = versionLine.ReplaceAllFunc(files[i].Data, func(line []byte) []byte {
				key, _, _ := strings.Cut(string(line), ":")
				if key == "appVersion" {
					return []byte(key + `: "` + version + `"`)
				}
				return []byte(key + ": " + number)
			})
		}
	}
	data, err = Pack(files, made)
	return chart + "-" + number + ".tgz", data, err
}

var semVer = regexp.MustCompile(`^v?((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$`)

// SemVer is the semantic version in a version, without the v before it.
func SemVer(version string) (string, bool) {
	m := semVer.FindStringSubmatch(version)
	if m == nil {
		return "", false
	}
	return m[1], true
}
