package v1

// SubnetSelectorTerm selects subnets: by id, or by all of its tags.
type SubnetSelectorTerm struct {
	// Tags that a subnet must have; the value * stands for any.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values may not be empty; use '*' for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the subnet.
	// +kubebuilder:validation:Pattern=`subnet-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm selects security groups: by id, by name, or by all of its tags.
type SecurityGroupSelectorTerm struct {
	// Tags that a security group must have; the value * stands for any.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values may not be empty; use '*' for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the security group.
	// +kubebuilder:validation:Pattern=`sg-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
	// Name of the security group, which is not its tag "Name".
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm selects capacity reservations: by id, or by all of its other fields.
type CapacityReservationSelectorTerm struct {
	// Tags that a reservation must have; the value * stands for any.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values may not be empty; use '*' for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the reservation.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// Account that owns the reservation.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// Which instances the reservation takes by itself.
	// +kubebuilder:validation:Enum=open;targeted
	// +optional
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroupSelector selects one placement group.
type PlacementGroupSelector struct {
	// Name of the placement group.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
	// ID of the placement group.
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// AMISelectorTerm selects images: by alias, by id, by an SSM parameter, or by all of its other fields.
type AMISelectorTerm struct {
	// Published image of a family, as family@version; for most families latest is a version.
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]+@.+$')",message="alias must be family@version, for example al2023@latest"
	// +kubebuilder:validation:XValidation:rule="self.find('^[^@]+') in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']",message="alias family must be one of al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('windows') || self.matches('^windows[0-9]+@latest$')",message="the windows families know the version latest only"
	// +optional
	Alias string `json:"alias,omitempty"`
	// Tags that an image must have; the value * stands for any.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values may not be empty; use '*' for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the image.
	// +kubebuilder:validation:Pattern=`ami-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
	// Name of the image, with * and ? as wildcards; not its tag "Name".
	// +optional
	Name string `json:"name,omitempty"`
	// Owner of the image: an account, or an alias such as self or amazon. Without an owner, a name
	// selects images of self and amazon.
	// +optional
	Owner string `json:"owner,omitempty"`
	// SSM parameter, by name or ARN, that holds the ID of the image.
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
