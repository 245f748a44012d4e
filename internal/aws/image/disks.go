package image

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Disks are the volumes that an image brings along. They never change.
type Disks struct {
	// Root is the device that the image boots from.
	Root string
	// GiB are the sizes of its volumes by device.
	GiB map[string]int64
	// Windows is set for images of Windows.
	Windows bool
}

func disksOf(in *types.Image) Disks {
	d := Disks{Root: aws.ToString(in.RootDeviceName), GiB: map[string]int64{}, Windows: strings.EqualFold(string(in.Platform), string(types.PlatformValuesWindows))}
	for i := range in.BlockDeviceMappings {
		if m := &in.BlockDeviceMappings[i]; m.Ebs != nil && aws.ToInt32(m.Ebs.VolumeSize) > 0 {
			d.GiB[aws.ToString(m.DeviceName)] = int64(*m.Ebs.VolumeSize)
		}
	}
	return d
}

// Disks are the volumes of an image.
//
// Errors: *cloud.Error; of class NotFound for an image that can't be seen.
func (r *Resolver) Disks(ctx context.Context, id string) (Disks, error) {
	r.mu.Lock()
	known, ok := r.disks[id]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	if _, _, err := r.describe(ctx, query{ids: []string{id}}); err != nil {
		return Disks{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok = r.disks[id]; ok {
		return known, nil
	}
	return Disks{}, &cloud.Error{Op: "reading image " + id, Class: cloud.NotFound, Reason: awsv1.ReasonAMINotFound,
		Err: errors.New("there is no such x86_64 or arm64 image in this region that this account may use")}
}

// maxDisks bounds how many images' disks are remembered.
const maxDisks = 4096

func (r *Resolver) noteDisksLocked(found map[string]Disks) {
	if len(r.disks)+len(found) > maxDisks {
		r.disks, r.found = map[string]Disks{}, map[string]answer{}
	}
	maps.Copy(r.disks, found)
}
