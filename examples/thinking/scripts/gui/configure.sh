cat >/opt/thinking/gui/gui.conf <<END
port=$INPUT_PORT
api=$INPUT_API_URL
END
echo "gui: configured to listen on $INPUT_PORT and to ask $INPUT_API_URL"
