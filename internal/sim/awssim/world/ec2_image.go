package world

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Family says how an image boots: which kind of user data it reads.
type Family string

// Families of images.
const (
	FamilyAL2          Family = "al2"          // bootstrap script
	FamilyAL2023       Family = "al2023"       // NodeConfig YAML in MIME
	FamilyBottlerocket Family = "bottlerocket" // TOML settings
	FamilyWindows      Family = "windows"      // PowerShell
	FamilyOther        Family = "other"        // runs what it is given, never joins by itself
)

// Variants of images within a family.
const (
	VariantStandard = "standard"
	VariantNVIDIA   = "nvidia"
	VariantNeuron   = "neuron"
)

// Image is an instance image.
type Image struct {
	ID, Name, Description string
	Arch                  string // x86_64 or arm64
	OwnerID, OwnerAlias   string
	Public                bool
	SharedWith            []string // accounts that may launch a private image
	Created               time.Time
	Deprecated            time.Time // zero: not announced
	State                 string    // available, deregistered, …
	Platform              string    // windows or empty
	RootDevice            string
	RootSizeGiB           int32
	// DataDevice is the volume that the image brings along besides its root, none when empty.
	DataDevice  string
	DataSizeGiB int32
	Tags        map[string]string

	Family            Family
	Variant           string
	KubernetesVersion string // minor version of the kubelet in it, "1.35"
	Release           string // date or version in the family's way of writing
	// SSMPaths are the public parameters whose value is this image's id.
	SSMPaths []string
}

func (i *Image) clone() Image {
	c := *i
	c.Tags = maps.Clone(i.Tags)
	return c
}

// Images returns all images by id, deregistered ones and those that a fault hides excepted.
func (w *World) Images() []Image {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := sorted(w.ec2.images, (*Image).clone)
	return slices.DeleteFunc(all, func(i Image) bool { return w.aboutLocked(FaultMissingImages, i.ID) != nil })
}

// Image returns one image.
func (w *World) Image(id string) (Image, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.ec2.images[id]; i != nil {
		return i.clone(), true
	}
	return Image{}, false
}

// AddImage registers an image; an empty ID, OwnerID or State is filled in. It returns the image as registered.
func (w *World) AddImage(i Image) Image {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addImageLocked(i)
}

func (w *World) addImageLocked(i Image) Image {
	if i.ID == "" {
		i.ID = w.newIDLocked("ami")
	}
	if i.OwnerID == "" {
		i.OwnerID = w.opts.Account
	}
	if i.State == "" {
		i.State = "available"
	}
	if i.RootDevice == "" {
		i.RootDevice = "/dev/xvda"
	}
	if i.RootSizeGiB == 0 {
		i.RootSizeGiB = 20
	}
	if i.Created.IsZero() {
		i.Created = w.clock.Now()
	}
	stored := i.clone()
	w.ec2.images[i.ID] = &stored
	for _, path := range i.SSMPaths {
		w.ec2.imagePaths[path] = i.ID
	}
	return i
}

// sizeOf is how large the image's volume on a device is; 0 when it brings none along.
func (i *Image) sizeOf(device string) int32 {
	switch device {
	case "":
	case i.RootDevice:
		return i.RootSizeGiB
	case i.DataDevice:
		return i.DataSizeGiB
	}
	return 0
}

// DeprecateImage sets the time from which an image counts as deprecated.
func (w *World) DeprecateImage(id string, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.ec2.images[id]
	if i == nil {
		return fmt.Errorf("deprecate image: no image %q", id)
	}
	i.Deprecated = at
	return nil
}

// DeregisterImage removes an image. Parameters go on naming it, as they do for a while in reality.
func (w *World) DeregisterImage(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ec2.images[id] == nil {
		return fmt.Errorf("deregister image: no image %q", id)
	}
	delete(w.ec2.images, id)
	return nil
}

// ImageParameters returns the public SSM parameters that name images: path to image id. Of several images that claim a
// path, the one added last has it.
func (w *World) ImageParameters() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.ec2.imagePaths)
}

// ImageParameter returns the image id under one public SSM parameter.
func (w *World) ImageParameter(path string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, ok := w.ec2.imagePaths[path]
	return id, ok
}
