package world

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNothingIsLostOrMadeUp does random things to a world and checks after each that addresses, stock, quotas and
// reservations add up with the instances there are, and that fleets own up to what they did not launch.
func TestNothingIsLostOrMadeUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, clock := testWorld(t, func(o *Options) { o.PrivateBits, o.OnDemandDepth, o.SpotDepth = 27, 8, 5 })
		defer w.Close()
		subnets := setUp(t, w)
		w.SetQuota(Spot, "Standard", 24)
		var requests []FleetRequest
		fleets := map[string]int{}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { checkSums(rt, w, fleets) },
			"fleet": func(rt *rapid.T) {
				n := rapid.Int32Range(1, 20).Draw(rt, "n")
				r := fleetOf(n, rapid.SampledFrom([]string{Spot, OnDemand}).Draw(rt, "capacity type"))
				for _, name := range []string{"m5.large", "m5.xlarge", "c5.large", "m6g.large"} {
					for _, s := range subnets {
						if rapid.IntRange(0, 3).Draw(rt, name+" in "+s.Zone) == 0 {
							r.Configs[0].Overrides = append(r.Configs[0].Overrides, FleetOverride{InstanceType: name, SubnetID: s.ID})
						}
					}
				}
				if len(r.Configs[0].Overrides) == 0 {
					rt.Skip("no place")
				}
				strategy := rapid.SampledFrom([]string{"lowest-price", "price-capacity-optimized", "diversified", "capacity-optimized"}).Draw(rt, "strategy")
				r.Spot = &FleetOptions{AllocationStrategy: strategy}
				r.ClientToken = fmt.Sprint(len(requests))
				launchFleet(rt, w, r, false, fleets)
				requests = append(requests, r)
			},
			"the same again": func(rt *rapid.T) {
				if len(requests) == 0 {
					rt.Skip("none yet")
				}
				launchFleet(rt, w, rapid.SampledFrom(requests).Draw(rt, "request"), true, fleets)
			},
			"terminate": func(rt *rapid.T) {
				all := w.Instances()
				if len(all) == 0 {
					rt.Skip("none")
				}
				i := rapid.SampledFrom(all).Draw(rt, "instance")
				if rapid.Bool().Draw(rt, "reclaim") {
					w.Reclaim(i.ID)
				} else if _, err := w.Terminate([]string{i.ID}); err != nil {
					rt.Fatal(err)
				}
			},
			"reserve": func(rt *rapid.T) {
				r := Reservation{Type: "m5.large", Zone: subnets[0].Zone, Total: rapid.IntRange(1, 3).Draw(rt, "total"), End: clock.Now().Add(time.Minute)}
				if _, err := w.AddReservation(r); err != nil {
					rt.Fatal(err)
				}
			},
			"time": func(rt *rapid.T) {
				clock.Advance(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
			},
			"fault": func(rt *rapid.T) {
				kind := rapid.SampledFrom([]FaultKind{FaultNoCapacity, FaultPartialFleet, FaultFailedLaunch, FaultNoAddresses, FaultLateInstances}).Draw(rt, "kind")
				w.AddFault(Fault{Kind: kind, Count: rapid.IntRange(1, 4).Draw(rt, "count"), Limit: 1, Delay: time.Second})
			},
		})
	})
}

// launchFleet makes a fleet and checks that its answer is whole.
func launchFleet(rt *rapid.T, w *World, r FleetRequest, again bool, fleets map[string]int) {
	before := len(w.AllInstances())
	f, err := w.CreateFleet(r)
	if err != nil {
		rt.Fatal(err)
	}
	made := len(w.AllInstances()) - before
	if again {
		if n, known := fleets[f.ID]; !known || made != 0 || f.Count() != n {
			rt.Fatalf("the same token launched %d more; the answer has %d instances, had %d", made, f.Count(), n)
		}
		return
	}
	if made != f.Count() {
		rt.Fatalf("%d instances were made, the answer has %d", made, f.Count())
	}
	if want := int(*r.Target.Total); f.Count() > want || f.Count() < want && len(f.Errors) == 0 {
		rt.Fatalf("%d of %d launched with errors %+v", f.Count(), want, f.Errors)
	}
	fleets[f.ID] = f.Count()
}

func checkSums(rt *rapid.T, w *World, fleets map[string]int) {
	addresses, pooled, reserved, byFleet := map[string]int{}, map[poolKey]int{}, map[string]int{}, map[string]int{}
	cpus := map[quotaKey]int{}
	ips := map[string]string{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range w.ec2.instances {
		byFleet[i.FleetID]++
		if !i.Live() {
			continue
		}
		addresses[i.SubnetID]++
		if other := ips[i.PrivateIP.String()]; other != "" || !w.ec2.net.subnets[i.SubnetID].CIDR.Contains(i.PrivateIP) {
			rt.Fatalf("%s and %s have address %s", i.ID, other, i.PrivateIP)
		}
		ips[i.PrivateIP.String()] = i.ID
		if i.pooled {
			pooled[poolKey{i.CapacityType, i.Type, i.Zone}]++
		}
		reserved[i.CapacityReservationID]++
		cpus[quotaKey{i.CapacityType, QuotaClass(i.Type)}] += w.vcpus(i.Type)
	}
	for _, s := range w.ec2.net.subnets {
		if s.Free+addresses[s.ID] != s.size() || len(s.used) != addresses[s.ID] {
			rt.Fatalf("subnet %s: %d free and %d in use, of %d", s.CIDR, s.Free, addresses[s.ID], s.size())
		}
	}
	for k, p := range w.ec2.pools {
		if p.used != pooled[k] {
			rt.Fatalf("pool %v counts %d, %d instances are of it", k, p.used, pooled[k])
		}
	}
	for _, r := range w.ec2.reservations {
		if r.used != reserved[r.ID] || r.used > r.Total {
			rt.Fatalf("reservation %s counts %d of %d, %d instances use it", r.ID, r.used, r.Total, reserved[r.ID])
		}
	}
	for k, n := range w.ec2.quotaUsed {
		if n != cpus[k] || n > w.quotaLocked(k) {
			rt.Fatalf("quota %v counts %d vCPUs of %d, instances have %d", k, n, w.quotaLocked(k), cpus[k])
		}
	}
	for id, n := range byFleet {
		if n > fleets[id] {
			rt.Fatalf("fleet %s answered %d instances, %d name it", id, fleets[id], n)
		}
	}
}
