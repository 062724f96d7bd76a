// Shows this server's own API document. Nothing is asked of another host, and no token outlives the page.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const dress = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", dress);
  dress();
  SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#viewer",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    defaultModelRendering: "example",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    docExpansion: "list",
    filter: true,
    persistAuthorization: false,
    queryConfigEnabled: false,
    validatorUrl: "none",
  });
})();
