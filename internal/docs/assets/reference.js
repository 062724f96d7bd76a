// Show the API document of this server. Contact no other host, and forget the token with the page.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const applyTheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", applyTheme);
  applyTheme();
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
