package v1

// WellKnownLabels returns the label keys that this provider adds to the core set. Together with
// those of the core they are the only keys of restricted domains that users may name.
func WellKnownLabels() []string {
	return []string{
		LabelInstanceHypervisor, LabelInstanceEncryptionInTransitSupported, LabelInstanceCategory,
		LabelInstanceFamily, LabelInstanceGeneration, LabelInstanceSize, LabelInstanceCapabilityFlex,
		LabelInstanceLocalNVME, LabelInstanceCPU, LabelInstanceCPUManufacturer,
		LabelInstanceCPUSustainedClockSpeedMHz, LabelInstanceMemory, LabelInstanceEBSBandwidth,
		LabelInstanceNetworkBandwidth, LabelInstanceGPUName, LabelInstanceGPUManufacturer,
		LabelInstanceGPUCount, LabelInstanceGPUMemory, LabelInstanceAcceleratorName,
		LabelInstanceAcceleratorManufacturer, LabelInstanceAcceleratorCount, LabelInstanceTenancy,
		LabelCapacityReservationID, LabelCapacityReservationType, LabelCapacityReservationInterruptible,
		LabelPlacementGroupID, LabelPlacementGroupPartition, LabelTopologyZoneID,
	}
}

// RestrictedLabelDomains returns the label domains of which only well-known keys may be used.
func RestrictedLabelDomains() []string { return []string{Group} }

// LabelAliases returns label keys that mean another key, in addition to the core's.
func LabelAliases() map[string]string {
	return map[string]string{LabelEBSZone: "topology.kubernetes.io/zone"}
}
