package cloudformation

import "fmt"

var ssmParameter = &kind{
	properties: map[string]*shape{
		"Name": text, "Type": oneOf("String", "StringList"), "Value": text, "Description": text, "Tier": text, "AllowedPattern": text,
		"DataType": text, "Policies": text, "Tags": textMap,
	},
	required: []string{"Type", "Value"}, fixed: []string{"Name"}, readOnly: []string{"Type", "Value"}, name: "Name", nameLength: 1011,
	create: func(c *change) error {
		if _, there := c.world.Parameter(c.name); there {
			return fmt.Errorf("the parameter %s already exists", c.name)
		}
		c.physical = c.name
		return putParameter(c)
	},
	update: putParameter,
	remove: func(c *change) error {
		c.world.DeleteParameter(c.physical)
		return nil
	},
}

func putParameter(c *change) error {
	c.world.PutParameter(c.physical, c.text("Type"), c.text("Value"))
	c.attributes = map[string]any{"Type": c.text("Type"), "Value": c.text("Value")}
	return nil
}
