// Tokens and keys stay in this page, which stores nothing in the browser.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#interface",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  persistAuthorization: false,
  validatorUrl: null,
});
