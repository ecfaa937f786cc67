package config

import (
	"log/slog"
	"time"

	"github.com/quotashare/quotashare/quota"
)

// The two homes of the log.
const (
	Embedded = "embedded" // a NATS server of our own, in the data directory
	NATS     = "nats"     // a NATS server or cluster that somebody else runs
)

// defaultServer is what a server is called that is alone, and clusterReplicas how many
// copies of the log a cluster has: with three, any one node may be gone.
const (
	defaultServer   = "quotashare"
	clusterReplicas = 3
)

// Config is a valid configuration once Validate has found nothing.
type Config struct {
	DataDir          string
	StoreDriver      string // Embedded or NATS
	StoreNATSURL     string // "" with Embedded
	LogElsewhere     bool   // the program has no log of its own; no setting, the program knows
	StoreNATSUser    string // file of who we are to somebody else's server; "" = as the URL says
	NATSCA           string // file of certificates; "" = the system's
	NATSAddr         string // where the embedded server listens
	NATSConfig       string // file of its users; "" = there are none
	NATSTLS          KeyPair
	ServerName       string
	ClusterName      string // "" = the embedded server is alone
	ClusterAddr      string // where other nodes reach this one
	ClusterRoutes    []string
	Replicas         int // of the log
	HTTPAddr         string
	HTTPTLS          KeyPair
	HTTPHosts        []string      // host names the HTTP API answers to, beside the loopback ones
	Sync             time.Duration // of the log; 0 = before every acknowledgement
	SnapshotInterval time.Duration
	SnapshotKeep     int
	APIToken         string // of an admin; "" = none
	TokensFile       string // of everybody else's tokens; "" = there are none
	LogLevel         slog.Level

	// The rest are settings of the engine, which live in the log once somebody
	// stores them. Given names those that were set here, in the order below.
	SaturationThreshold      quota.Ratio
	SoftDeprioritizeFactor   quota.Ratio
	ConsumptionRetentionDays int64
	SignalTTL                time.Duration
	HoldTTL                  time.Duration
	MaxLag                   time.Duration
	Given                    []Setting
}

// KeyPair is a certificate and its key, two files; without them there is no TLS.
type KeyPair struct{ Cert, Key string }

// Given reports whether there is one.
func (k KeyPair) Given() bool { return k != KeyPair{} }

// Setting is one setting of the engine as it is written into the log: its name
// there, and its value as a JSON number (durations in milliseconds).
type Setting struct {
	Name  string
	Value string
}

// Default is the configuration of a program that was told nothing. A program
// with another HTTP address changes that one.
func Default() Config {
	return Config{
		DataDir:                  "./data",
		StoreDriver:              Embedded,
		NATSAddr:                 "127.0.0.1:4222",
		ServerName:               defaultServer,
		ClusterAddr:              "127.0.0.1:6222",
		Replicas:                 1,
		HTTPAddr:                 "127.0.0.1:8480",
		SnapshotInterval:         10 * time.Minute,
		SnapshotKeep:             5,
		LogLevel:                 slog.LevelInfo,
		SaturationThreshold:      quota.RatioOne / 2,
		SoftDeprioritizeFactor:   quota.RatioOne * 7 / 10,
		ConsumptionRetentionDays: 14,
		SignalTTL:                30 * time.Second,
		HoldTTL:                  5 * time.Minute,
		MaxLag:                   5 * time.Second,
	}
}
