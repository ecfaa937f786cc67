# An image of nothing but our programs. There is no shell in it, no package and
# no other user; what is not listed here is not there. `make image` lays out the
# files next to each other, from the archive that is handed out, and builds it.
FROM scratch

COPY LICENSE /LICENSE
# What providers' certificates are checked with, by the gateway: those of the
# machine that built the image. Replace them at run time by mounting others here.
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY bin/ /bin/
# A volume that is new has the owner of the folder that it covers.
COPY --chown=65532:65532 empty/ /data/
COPY --chown=65532:65532 empty/ /tokens/
COPY --chown=65532:65532 empty/ /users/

# A number, so that a cluster that refuses root need not read a file of names.
USER 65532:65532

# All that is written goes to /data, temporary files too: the rest may be
# read-only. Beyond loopback a program starts only with tokens, and a container
# of its own is beyond loopback.
ENV PATH=/bin TMPDIR=/data QUOTA_DATA_DIR=/data QUOTA_HTTP_ADDR=0.0.0.0:8480
VOLUME /data
EXPOSE 4222 6222 8480

HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 CMD ["/bin/quotashare", "health"]

# /bin/ingest, /bin/decider and /bin/gateway are the other programs.
ENTRYPOINT ["/bin/quotashare"]
CMD ["up"]
