package assembly

import (
	"crypto/tls"
	"errors"
	"path/filepath"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/program"
)

// startServer runs the embedded server.
func (r *run) startServer() (*ingest.Server, error) {
	o, err := r.serverOptions()
	if err != nil {
		return nil, err
	}
	server, err := ingest.Start(o)
	switch {
	case errors.Is(err, ingest.ErrAddrInUse):
		return nil, program.Hint(err, "another server listens there; stop it, or set %s to another address", config.Variable("nats-addr"))
	case errors.Is(err, ingest.ErrDirInUse):
		return nil, program.Hint(err, "another quotashare uses this directory; stop it, or set %s", config.Variable("data-dir"))
	}
	return server, err
}

func (r *run) serverOptions() (ingest.Options, error) {
	o := ingest.Options{
		Name: r.cfg.ServerName, Dir: filepath.Join(r.cfg.DataDir, "nats"), Addr: r.cfg.NATSAddr, Sync: r.cfg.Sync,
		Token: r.natsToken(), Users: r.cfg.NATSConfig, Logger: r.log,
	}
	var err error
	if o.TLS, err = r.serverTLS(r.cfg.NATSTLS); err != nil {
		return o, err
	}
	if r.cfg.ClusterName != "" {
		o.Cluster, err = r.cluster()
	}
	return o, err
}

// natsToken is what clients of the embedded server must present when it has no users. On
// loopback they need none, as over HTTP they need none there without a token.
func (r *run) natsToken() string {
	if r.natsLoopback() || r.cfg.NATSConfig != "" {
		return ""
	}
	return r.cfg.APIToken
}

func (r *run) serverTLS(pair config.KeyPair) (*tls.Config, error) {
	if !pair.Given() {
		return nil, nil
	}
	c, err := r.certificate(pair)
	if err != nil {
		return nil, err
	}
	return c.Server(), nil
}

// certificate opens a pair once, whatever it is for: what is told of it is told once.
func (r *run) certificate(pair config.KeyPair) (*program.Certificate, error) {
	if c := r.certificates[pair]; c != nil {
		return c, nil
	}
	c, err := program.OpenCertificate(pair.Cert, pair.Key, r.log)
	if err != nil {
		return nil, err
	}
	if r.certificates == nil {
		r.certificates = map[config.KeyPair]*program.Certificate{}
	}
	r.certificates[pair] = c
	return c, nil
}

// cluster is what the node is told of the others. The certificate that it shows to
// clients is the one that it shows to them.
func (r *run) cluster() (*ingest.Cluster, error) {
	c := &ingest.Cluster{Name: r.cfg.ClusterName, Addr: r.cfg.ClusterAddr, Routes: r.cfg.ClusterRoutes}
	if !r.cfg.NATSTLS.Given() {
		return c, nil
	}
	roots, err := program.Roots(r.cfg.NATSCA)
	if err != nil {
		return nil, err
	}
	certificate, err := r.certificate(r.cfg.NATSTLS)
	if err != nil {
		return nil, err
	}
	c.TLS = certificate.Peer(roots)
	return c, nil
}
