// Package bom writes a software bill of materials: the modules that a program was linked from, as the program itself holds them.
package bom

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// JSON is the bill of a program in CycloneDX's form.
func JSON(binary, version string, made time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading what %s was built from: %w", binary, err)
	}
	b := cyclonedx.NewBOM()
	b.Metadata = &cyclonedx.Metadata{
		Timestamp: made.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: info.Main.Path, Type: cyclonedx.ComponentTypeApplication, Name: "kerf", Version: version, PackageURL: "pkg:golang/" + info.Main.Path + "@" + version,
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		},
	}
	components := []cyclonedx.Component{{
		BOMRef: "std", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion[len("go"):],
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		component := cyclonedx.Component{BOMRef: m.Path, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version}
		components = append(components, component)
	}
	b.Components = &components
	var out bytes.Buffer
	e := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON)
	e.SetPretty(true)
	if err := e.Encode(b); err != nil {
		return nil, fmt.Errorf("writing the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}
