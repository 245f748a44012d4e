package account

// ProbeRulePrefix begins the names of the rules that a proof of delivery makes. A queue policy that takes events from named
// rules only should also name rule/kerf-doctor-*.
const ProbeRulePrefix = "kerf-doctor-"
