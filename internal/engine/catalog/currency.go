package catalog

import "fmt"

// Currency is the code of what prices are in, such as CNY; empty is not known, which is held to be USD. AWS charges in one
// currency in a region, so all prices of a problem are in one.
type Currency string

// Symbol is what amounts begin with: $, ¥ for CNY, € for EUR, the code and a space for others.
func (c Currency) Symbol() string {
	switch c {
	case "", "USD":
		return "$"
	case "CNY":
		return "¥"
	case "EUR":
		return "€"
	}
	return string(c) + " "
}

// Amount writes a price with four decimals, as in $0.0416; smaller parts are shown when there are any.
func (c Currency) Amount(m MicroUSD) string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	if m%100 == 0 {
		return fmt.Sprintf("%s%s%d.%04d", sign, c.Symbol(), m/1_000_000, m%1_000_000/100)
	}
	return fmt.Sprintf("%s%s%d.%06d", sign, c.Symbol(), m/1_000_000, m%1_000_000)
}
