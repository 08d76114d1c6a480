import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const local = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the built-in list of licences leaves out: fonts, and notices that go with a licence. */
const FURTHER = {
  "inter.txt": "@fontsource-variable/inter/LICENSE",
  "jetbrains-mono.txt": "@fontsource-variable/jetbrains-mono/LICENSE",
  "pierre-highlights-notice.md": "@pierre/highlights/NOTICE.md",
};

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [
    {
      name: "further-licences",
      generateBundle(): void {
        for (const [name, file] of Object.entries(FURTHER)) {
          this.emitFile({
            type: "asset",
            fileName: `licences/${name}`,
            source: readFileSync(local(`node_modules/${file}`)),
          });
        }
      },
    },
  ],
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
    // What is built holds other people's code, and so their licences.
    license: { fileName: "licences.md" },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
  test: {
    environment: "node",
    include: ["test/**/*.test.{ts,tsx}"],
  },
});
