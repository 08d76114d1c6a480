import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const local = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: {
    alias: [
      // The viewer can colour with three engines. One is used; what only the other two need stays out of the bundle.
      {
        find: /^shiki\/(core|engine\/javascript|engine\/oniguruma|wasm|langs|textmate)$/,
        replacement: local("src/diff/absent.ts"),
      },
      { find: "@pierre/theming/themes", replacement: local("src/diff/absent.ts") },
      { find: "@pierre/highlights/themes/loader", replacement: local("src/diff/themes.ts") },
    ],
  },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.{ts,tsx}"],
  },
});
