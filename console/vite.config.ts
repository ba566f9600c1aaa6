import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { lezer } from "@lezer/generator/rollup";
import { defineConfig, type Plugin } from "vite";

const OUT = "../server/tidegate_server/console/assets";
const SWAGGER_UI = "../server/tidegate_server/routing/swagger_ui";
const COMPRESSED = /\.(js|css|html|svg)$/;

/** Stores each file compressed as well: the service hands out bytes and compresses nothing. */
function compressed(): Plugin {
  return {
    name: "tidegate-compressed",
    apply: "build",
    writeBundle() {
      for (const entry of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const bytes = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
        const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }));
      }
    },
  };
}

/** Brings the page of the interface its library, which is too large for the repository. */
function swaggerUi(): Plugin {
  return {
    name: "tidegate-swagger-ui",
    apply: "build",
    closeBundle() {
      mkdirSync(SWAGGER_UI, { recursive: true });
      for (const name of ["swagger-ui-bundle.js", "swagger-ui.css"]) {
        copyFileSync(join("node_modules/swagger-ui-dist", name), join(SWAGGER_UI, name));
      }
    },
  };
}

export default defineConfig({
  base: "/console/",
  plugins: [lezer(), compressed(), swaggerUi()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // The console, and the page of `tidegate play`.
    rolldownOptions: { input: ["index.html", "play.html"] },
    target: "es2023",
    // Inlined assets would be `data:` addresses, which the page's policy forbids.
    assetsInlineLimit: 0,
    // The polyfill is an inline script, which the policy forbids too.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/auth": "http://127.0.0.1:8080" } },
});
