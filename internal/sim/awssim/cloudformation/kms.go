package cloudformation

import "github.com/kerf-sh/kerf/internal/sim/awssim/wire"

func kms() *wire.Service { return wire.ServiceNamed("kms") }

// defaultKeyWindow is how many days a key can still be saved once its stack is gone.
const defaultKeyWindow = 30

var kmsKey = &kind{
	properties: map[string]*shape{
		"KeyPolicy": free, "Description": text, "Enabled": boolean, "EnableKeyRotation": boolean, "KeySpec": text, "KeyUsage": text,
		"MultiRegion": boolean, "Origin": text, "PendingWindowInDays": integer, "RotationPeriodInDays": integer,
		"BypassPolicyLockoutSafetyCheck": boolean, "Tags": tagList,
	},
	fixed: []string{"KeySpec", "KeyUsage", "MultiRegion", "Origin"}, readOnly: []string{"Arn", "KeyId"}, tagged: true,
	create: createKey, update: updateKey,
	remove: func(c *change) error {
		days, ok := c.old["PendingWindowInDays"].(int)
		if !ok {
			days = defaultKeyWindow
		}
		return unlessMissing(c.json(kms(), "ScheduleKeyDeletion", map[string]any{"KeyId": c.physical, "PendingWindowInDays": days}, nil))
	},
}

func createKey(c *change) error {
	in := map[string]any{"Tags": pairs(c.newTags, "TagKey", "TagValue")}
	for _, p := range []string{"Description", "KeySpec", "KeyUsage", "MultiRegion", "Origin", "BypassPolicyLockoutSafetyCheck"} {
		if c.new[p] != nil {
			in[p] = c.new[p]
		}
	}
	if c.new["KeyPolicy"] != nil {
		in["Policy"] = document(c.new["KeyPolicy"])
	}
	var out struct {
		KeyMetadata struct {
			Arn   string
			KeyID string `json:"KeyId"`
		}
	}
	if err := c.json(kms(), "CreateKey", in, &out); err != nil {
		return err
	}
	c.physical = out.KeyMetadata.KeyID
	c.attributes = map[string]any{"Arn": out.KeyMetadata.Arn, "KeyId": out.KeyMetadata.KeyID}
	return syncKeySwitches(c)
}

// syncKeySwitches turns rotation and the key itself on and off. A key without more is enabled and not rotated.
func syncKeySwitches(c *change) error {
	turn := func(property string, otherwise bool, on, off string) error {
		was, ok := c.old[property].(bool)
		if !ok {
			was = otherwise
		}
		is, ok := c.new[property].(bool)
		if !ok {
			is = otherwise
		}
		if was == is {
			return nil
		}
		operation := off
		if is {
			operation = on
		}
		return c.json(kms(), operation, map[string]any{"KeyId": c.physical}, nil)
	}
	if err := turn("EnableKeyRotation", false, "EnableKeyRotation", "DisableKeyRotation"); err != nil {
		return err
	}
	return turn("Enabled", true, "EnableKey", "DisableKey")
}

func updateKey(c *change) error {
	if c.differs("KeyPolicy") && c.new["KeyPolicy"] != nil {
		in := map[string]any{"KeyId": c.physical, "PolicyName": "default", "Policy": document(c.new["KeyPolicy"])}
		if v := c.new["BypassPolicyLockoutSafetyCheck"]; v != nil {
			in["BypassPolicyLockoutSafetyCheck"] = v
		}
		if err := c.json(kms(), "PutKeyPolicy", in, nil); err != nil {
			return err
		}
	}
	if c.differs("Description") {
		in := map[string]any{"KeyId": c.physical, "Description": c.text("Description")}
		if err := c.json(kms(), "UpdateKeyDescription", in, nil); err != nil {
			return err
		}
	}
	if err := syncKeySwitches(c); err != nil {
		return err
	}
	return c.retag(func(tags []tag) error {
		return c.json(kms(), "TagResource", map[string]any{"KeyId": c.physical, "Tags": pairs(tags, "TagKey", "TagValue")}, nil)
	}, func(keys []string) error {
		return c.json(kms(), "UntagResource", map[string]any{"KeyId": c.physical, "TagKeys": keys}, nil)
	})
}

var kmsAlias = &kind{
	properties: map[string]*shape{"AliasName": text, "TargetKeyId": text},
	required:   []string{"AliasName", "TargetKeyId"}, fixed: []string{"AliasName"},
	create: func(c *change) error {
		c.physical = c.text("AliasName")
		err := c.json(kms(), "CreateAlias", map[string]any{"AliasName": c.physical, "TargetKeyId": c.text("TargetKeyId")}, nil)
		if err != nil {
			c.physical = "" // it may be another's
		}
		return err
	},
	update: func(c *change) error {
		return c.json(kms(), "UpdateAlias", map[string]any{"AliasName": c.physical, "TargetKeyId": c.text("TargetKeyId")}, nil)
	},
	remove: func(c *change) error {
		return unlessMissing(c.json(kms(), "DeleteAlias", map[string]any{"AliasName": c.physical}, nil))
	},
}
