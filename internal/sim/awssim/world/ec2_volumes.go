package world

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Volume is a disk of EBS. One that outlives its instance has no InstanceID and stays until the world ends.
type Volume struct {
	VolumeAttachment
	InstanceID, Zone, ZoneID string
	Created                  time.Time
}

// Volumes returns all volumes by id.
func (w *World) Volumes() []Volume {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Volume
	for _, i := range w.ec2.instances {
		for n := range i.Volumes {
			out = append(out, volumeOf(i, n))
		}
	}
	for _, v := range w.ec2.detached {
		c := *v
		c.Tags = maps.Clone(v.Tags)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Volume) int { return strings.Compare(a.VolumeID, b.VolumeID) })
	return out
}

func volumeOf(i *Instance, n int) Volume {
	v := Volume{VolumeAttachment: i.Volumes[n], InstanceID: i.ID, Zone: i.Zone, ZoneID: i.ZoneID, Created: i.LaunchTime}
	v.Tags = maps.Clone(v.Tags)
	return v
}

// detachLocked keeps the volumes of an instance that are not deleted with it.
func (w *World) detachLocked(i *Instance) {
	for n := range i.Volumes {
		if i.Volumes[n].DeleteOnTermination {
			continue
		}
		v := volumeOf(i, n)
		v.InstanceID = ""
		w.ec2.detached[v.VolumeID] = &v
	}
}

// What EC2 gives volumes that do not ask for more.
//
// Source: Amazon EBS User Guide, "General Purpose SSD volumes".
const (
	gp3Iops, gp3Throughput = 3000, 125 // MiB/s
	gp2IopsPerGiB          = 3
	gp2Least, gp2Most      = 100, 16000
)

// perform fills in what a volume can do.
func (v *VolumeAttachment) perform(asked *EbsDevice) {
	if asked != nil {
		v.Iops, v.Throughput = deref(asked.Iops), deref(asked.Throughput)
	}
	switch v.Type {
	case "gp3":
		v.Iops, v.Throughput = orDefault(v.Iops, gp3Iops), orDefault(v.Throughput, gp3Throughput)
	case "gp2":
		v.Iops = min(max(gp2IopsPerGiB*v.SizeGiB, gp2Least), gp2Most)
	}
}

func orDefault(n, d int32) int32 {
	if n == 0 {
		return d
	}
	return n
}

// SpotRequests returns the requests behind the spot instances that can be seen, by id.
func (w *World) SpotRequests() []SpotRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.spotRequests, func(r *SpotRequest) SpotRequest { c := *r; c.Tags = maps.Clone(r.Tags); return c })
}

// SetPublicOnLaunch says whether new interfaces in a subnet get a public address.
func (w *World) SetPublicOnLaunch(subnet string, public bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.ec2.net.subnets[subnet]
	if s == nil {
		return Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnet)
	}
	s.Public = public
	return nil
}
