// Package config is the configuration of the programs: what can be set, what
// holds when nothing is, and what is wrong with what was set.
//
// It is plain data. A program fills Text from its flags and its environment
// (a flag wins), Parse turns it into a Config, and every fault is reported at
// once, so that somebody who starts with ten settings starts twice and not
// eleven times. Nothing here reads the environment, a file or a clock.
package config
