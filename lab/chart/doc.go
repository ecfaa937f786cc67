// Package chart draws curves as SVG: panels with the same axes beside each other, and one
// legend. It knows nothing of what the curves are.
//
// A picture stands alone: it has its own style, no font, script or file of elsewhere, and
// colours for light and dark pages, on a background of its own, because who shows it may
// be either and asks nobody. Lines differ by their dashes as well as by their colours.
// What it shows is in its title and description too, for those who do not see it.
//
// Everything is in integers, so that the same curves are the same bytes on every machine
// and a stored picture can be compared.
package chart
