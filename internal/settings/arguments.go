package settings

import "strings"

// LongName is the name of a flag of the controller that has a short form: kerf-shadow of shadow. Other names are returned as they are.
func LongName(flag string) string {
	if flag == "shadow" || flag == "compat" {
		return "kerf-" + flag
	}
	return flag
}

// Arguments are the flags of a command line by their long names, without dashes, as the controller reads them: a flag of a boolean
// setting takes no argument after it, a flag of another one always takes the next. Of a flag that is there twice the last counts.
// Flags that are no settings are among them; one that is followed by another flag, or by nothing, is "true".
func Arguments(args []string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		if !ok || name == "" {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		name = LongName(name)
		row, known := rowOf(EnvName(name))
		next := i+1 < len(args)
		switch {
		case given:
		case known && row.isBool, !known && (!next || strings.HasPrefix(args[i+1], "-")):
			value = "true"
		case !next:
			continue // the controller does not start with it
		default:
			i++
			value = args[i]
		}
		out[name] = value
	}
	return out
}
