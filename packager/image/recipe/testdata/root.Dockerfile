# my-shop-backend-toskosed:latest
FROM python:3.11-slim
HEALTHCHECK --interval=3s --timeout=5s --retries=10 CMD ["/toskose/unit/toskose-unit", "health"]
ENTRYPOINT ["/toskose/unit/toskose-unit"]
ADD toskose.tar /
LABEL io.toskose.app="my-shop" io.toskose.base.command="[\"python3\"]" io.toskose.node="backend" io.toskose.version="1.2.3"
ENV SUPERVISORD_ALIAS="backend" SUPERVISORD_LOG_LEVEL="INFO" SUPERVISORD_PORT="9002" SUPERVISORD_USER="admin"
ADD application.tar /

# my-shop-frontend-toskosed:latest
FROM python:3.11-slim
HEALTHCHECK --interval=3s --timeout=5s --retries=10 CMD ["/toskose/unit/toskose-unit", "health"]
ENTRYPOINT ["/toskose/unit/toskose-unit"]
ADD toskose.tar /
LABEL io.toskose.app="my-shop" io.toskose.base.command="[\"python3\"]" io.toskose.node="frontend" io.toskose.version="1.2.3"
ENV SUPERVISORD_ALIAS="frontend" SUPERVISORD_LOG_LEVEL="INFO" SUPERVISORD_PORT="9003" SUPERVISORD_USER="admin"
ADD application.tar /

# my-shop-manager:latest
FROM scratch
HEALTHCHECK --interval=3s --timeout=5s --retries=10 CMD ["/toskose/manager/toskose-manager", "health"]
USER 65532:65532
ENTRYPOINT ["/toskose/manager/toskose-manager"]
ADD toskose.tar /
LABEL io.toskose.app="my-shop" io.toskose.version="1.2.3"
ADD application.tar /

