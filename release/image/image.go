// Package image makes the container image of Kerf: one static binary in an empty root, with nothing to run beside it. It needs no
// container engine.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// User is whom the image runs as, and the group.
const User = "65532:65532"

// Binary is where the program is in the image.
const Binary = manifests.Binary

// Build says what an image is made of. The same build gives the same bytes.
type Build struct {
	Version, Commit string
	Made            time.Time // of the commit
	// Binaries are files with the program for linux, by architecture.
	Binaries map[string]string
}

// Index makes the image of each architecture and the index of all, in the order of their names.
func (b Build) Index(architectures []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := b.image(arch)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return mutate.Annotations(index, b.labels()).(v1.ImageIndex), nil
}

// Write writes the index as an OCI image layout into a folder that is made anew. Tools that copy images take it as it is:
// crane push, skopeo copy oci:…, podman load.
func Write(index v1.ImageIndex, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	_, err := layout.Write(folder, index)
	return err
}

func (b Build) image(arch string) (v1.Image, error) {
	layer, err := b.layer(b.Binaries[arch])
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: b.Made}, CreatedBy: "kerf release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: b.Made}
	config.Config = v1.Config{
		User: User, Entrypoint: manifests.EntryPoint(), Env: manifests.ImageEnv(), WorkingDir: "/", Labels: b.labels(),
	}
	return mutate.ConfigFile(image, config)
}

func (b Build) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": "kerf", "org.opencontainers.image.version": b.Version, "org.opencontainers.image.revision": b.Commit,
		"org.opencontainers.image.source": "https://github.com/kerf-sh/kerf", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created": b.Made.UTC().Format(time.RFC3339),
	}
}

// layer is the root file system: the program, and a folder for temporary files where somebody mounts none.
func (b Build) layer(binary string) (v1.Layer, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range []struct {
		header tar.Header
		data   []byte
	}{
		{tar.Header{Typeflag: tar.TypeReg, Name: Binary[1:], Mode: 0o755, Size: int64(len(program))}, program},
		{tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil},
	} {
		f.header.ModTime, f.header.Format = b.Made, tar.FormatPAX
		if err := w.WriteHeader(&f.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
}
