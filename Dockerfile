# Headlight for several people, in a container or as a Space of Hugging Face: docs/operators.md says how.
FROM python:3.11-slim
RUN useradd --create-home --uid 1000 user
USER user
WORKDIR /home/user/headlight
ENV HEADLIGHT_SHARED=1 PATH=/home/user/.local/bin:$PATH
# The CPU build of PyTorch: the usual one brings 5 GB of CUDA libraries.
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch==2.13.0
COPY --chown=user requirements.txt constraints.txt ./
RUN pip install --no-cache-dir -r requirements.txt -c constraints.txt
COPY --chown=user app.py ./
COPY --chown=user .streamlit .streamlit
COPY --chown=user transformer_core transformer_core
COPY --chown=user headlight headlight
COPY --chown=user pages pages
COPY --chown=user checkpoints checkpoints
EXPOSE 7860
HEALTHCHECK CMD python -c "from urllib.request import urlopen; urlopen('http://localhost:7860/_stcore/health')"
# Spaces set SPACE_HOST to the name that the Space is served under, and show it in a frame.
CMD HEADLIGHT_FRAMED_BY=${SPACE_HOST:+https://huggingface.co} \
    exec python -m headlight --server.port=7860 --server.address=0.0.0.0 --server.headless=true \
    --server.allowedHosts=localhost ${SPACE_HOST:+--server.allowedHosts=$SPACE_HOST}
