import os

SECRET_KEY = os.environ["INPUT_SECRET_KEY"]
ALLOWED_HOSTS = ["*"]
TIME_ZONE = "UTC"
WHISPER_DIR = "/var/lib/graphite/whisper"
STANDARD_DIRS = [WHISPER_DIR]
CARBONLINK_HOSTS = ["127.0.0.1:7002"]
LOG_DIR = "/var/log/graphite"
STATIC_ROOT = "/usr/share/graphite-web/static"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "graphite",
        "USER": "graphite",
        "PASSWORD": os.environ["INPUT_PASSWORD"],
        "HOST": "db",
    }
}
